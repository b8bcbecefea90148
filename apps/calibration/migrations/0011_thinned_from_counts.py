"""What decides whether an answer is kept when unequal rates are thinned stands with its counts: all are counted anew."""

from django.db import migrations, models

FORWARD = """
-- As `routing.draw` makes a number of a hash: its first 53 bits as a share of 2^53, all that a float in [0, 1) holds.
CREATE FUNCTION calibration_draw(inner_pad bytea, outer_pad bytea, external_id text) RETURNS float8
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE RETURN (
    SELECT ((get_byte(hash, 0)::bigint << 45) + (get_byte(hash, 1)::bigint << 37) + (get_byte(hash, 2)::bigint << 29)
            + (get_byte(hash, 3)::bigint << 21) + (get_byte(hash, 4)::bigint << 13) + (get_byte(hash, 5)::bigint << 5)
            + (get_byte(hash, 6)::bigint >> 3))::float8 / 9007199254740992
    FROM (SELECT sha256(outer_pad || sha256(inner_pad || int4send(octet_length(external_id))
                                            || convert_to(external_id, 'UTF8'))) AS hash) drawn
);
TRUNCATE calibration_counted, calibration_daycount;
INSERT INTO calibration_touched (workflow_id, item_id)
    SELECT workflow_id, item_id FROM items_route WHERE superseded_at IS NULL;
"""
BACKWARD = """
DROP FUNCTION calibration_draw(bytea, bytea, text);
"""


class Migration(migrations.Migration):
    dependencies = [("calibration", "0010_reviewers_follow")]

    operations = [
        migrations.AddField(
            model_name="counted",
            name="thin",
            field=models.FloatField(
                help_text="routing.draw.thin_draw of a drawn check or a blind review, which may be thinned",
                null=True,
            ),
        ),
        migrations.AddIndex(
            model_name="counted",
            index=models.Index(
                condition=models.Q(("thin__isnull", False)),
                fields=["count"],
                include=("item", "state", "thin"),
                name="counted_to_thin",
            ),
        ),
        migrations.RunSQL(FORWARD, BACKWARD),
    ]
