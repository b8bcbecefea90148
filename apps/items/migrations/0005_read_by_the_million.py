"""A million routes are replayed in seconds: what that reads is kept beside them, in few bytes."""

import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models

FORWARD = """
-- Routes go with their columns, by whatever way they go.
ALTER TABLE items_routecolumns ADD CONSTRAINT route_columns_of_route
    FOREIGN KEY (route_id) REFERENCES items_route (id) ON DELETE CASCADE;

-- What is no number becomes NaN, which no rule lets through.
CREATE FUNCTION items_vector(answers jsonb) RETURNS bytea LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT coalesce(string_agg(float8send(
               CASE jsonb_typeof(pair.value -> 1) WHEN 'number' THEN (pair.value ->> 1)::float8 ELSE 'NaN' END
           ), ''::bytea ORDER BY answer.key COLLATE "C", pair.place), ''::bytea)
    FROM jsonb_each(answers) answer,
        jsonb_array_elements(answer.value -> 'probabilities') WITH ORDINALITY pair (value, place)
$$;

CREATE FUNCTION items_held_by(reasons jsonb) RETURNS text[] LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT array_agg(substr(reason ->> 'code', 10))
    FROM jsonb_array_elements(reasons) reason WHERE reason ->> 'code' LIKE 'override:%'
$$;

CREATE FUNCTION items_write_route_columns() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO items_routecolumns (route_id, item_id, workflow_id, policy_id, question_set_id, created_at,
        is_automatic, drawn, pi, model, held, vector)
    SELECT route.id, route.item_id, route.workflow_id, route.policy_id, route.question_set_id, route.created_at,
        route.outcome = 'automatic', route.drawn, route.pi, coalesce(decision.model, ''),
        items_held_by(route.reasons), coalesce(items_vector(decision.answers), ''::bytea)
    FROM added route LEFT JOIN items_decision decision ON decision.id = route.decision_id
    WHERE route.superseded_at IS NULL;
    RETURN NULL;
END $$;
CREATE TRIGGER route_columns_written AFTER INSERT ON items_route
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION items_write_route_columns();

CREATE FUNCTION items_drop_route_columns() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM items_routecolumns WHERE route_id = NEW.id;
    RETURN NULL;
END $$;
CREATE TRIGGER route_columns_dropped AFTER UPDATE ON items_route
    FOR EACH ROW WHEN (NEW.superseded_at IS NOT NULL) EXECUTE FUNCTION items_drop_route_columns();

INSERT INTO items_routecolumns (route_id, item_id, workflow_id, policy_id, question_set_id, created_at,
    is_automatic, drawn, pi, model, held, vector)
SELECT route.id, route.item_id, route.workflow_id, route.policy_id, route.question_set_id, route.created_at,
    route.outcome = 'automatic', route.drawn, route.pi, coalesce(decision.model, ''),
    items_held_by(route.reasons), coalesce(items_vector(decision.answers), ''::bytea)
FROM items_route route LEFT JOIN items_decision decision ON decision.id = route.decision_id
WHERE route.superseded_at IS NULL;
"""
BACKWARD = """
DROP TRIGGER route_columns_dropped ON items_route;
DROP FUNCTION items_drop_route_columns();
DROP TRIGGER route_columns_written ON items_route;
DROP FUNCTION items_write_route_columns();
DROP FUNCTION items_held_by(jsonb);
DROP FUNCTION items_vector(jsonb);
"""


class Migration(migrations.Migration):
    dependencies = [
        ("items", "0004_comes_in"),
        ("policies", "0002_activated_never_changes"),
        ("workflows", "0003_comes_in"),
    ]

    operations = [
        migrations.CreateModel(
            name="RouteColumns",
            fields=[
                (
                    "route",
                    models.OneToOneField(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="columns",
                        serialize=False,
                        to="items.route",
                    ),
                ),
                ("created_at", models.DateTimeField()),
                ("is_automatic", models.BooleanField()),
                ("drawn", models.BooleanField()),
                ("pi", models.FloatField()),
                ("model", models.CharField(max_length=120)),
                (
                    "held",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=60), null=True, size=None
                    ),
                ),
                (
                    "vector",
                    models.BinaryField(
                        help_text="every probability as 8 bytes, big-endian; questions by their keys' bytes, options as declared"
                    ),
                ),
                (
                    "item",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="items.item",
                    ),
                ),
                (
                    "policy",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="policies.policy",
                    ),
                ),
                (
                    "question_set",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="workflows.questionset",
                    ),
                ),
                (
                    "workflow",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="workflows.workflow",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["workflow", "created_at", "route"], name="route_columns_by_time")
                ],
            },
        ),
        migrations.RunSQL(FORWARD, BACKWARD),
    ]
