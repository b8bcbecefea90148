"""`make bench`: the whole pipeline beside the bare client, intake, and the desk before a long queue."""

from __future__ import annotations

import os
import platform
import sys
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from apps.demo.children import Children
from apps.demo.feed import open_stream
from apps.demo.installation import SAMPLES, add_people, install_samples, set_model
from apps.demo.measuring import (
    Bench,
    TookTooLong,
    grow_queue,
    measure_client_and_pipeline,
    measure_desk,
    measure_intake,
    start_model,
    start_worker,
    to_line,
)
from apps.demo.measuring_calibration import measure_calibration
from apps.demo.measuring_desk import (
    CROWD_LIMIT_S,
    measure_crowd,
    measure_desk_over_http,
    shorten_queue,
    start_web,
)
from apps.demo.measuring_import import measure_import
from apps.demo.measuring_options import add_options
from apps.demo.measuring_pages import measure_pages
from apps.demo.measuring_replay import measure_replay


class Command(BaseCommand):
    help = (
        "Measures on servers of its own in var/bench, deleted afterwards; the last line is one JSON object."
    )
    requires_system_checks = ()
    stealth_options = ("prepared",)

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_options(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        if not options.get("prepared"):
            os.chdir(settings.BASE_DIR)
            given = sys.argv[sys.argv.index("bench") + 1 :]
            os.execv(sys.executable, [sys.executable, "-m", "apps.demo.bench", *given])  # noqa: S606 - no shell
        children = Children()
        try:
            figures = self._measure(children, options)
        except TookTooLong as error:
            raise CommandError(f"{error}; logs are in {settings.VAR_DIR / 'log'}.") from error
        finally:
            children.stop()
        self.stdout.write(to_line(figures))

    def _measure(self, children: Children, options: dict[str, Any]) -> dict[str, Any]:
        items, processes = options["items"], options["processes"]
        bench, people = self._install(children)
        figures: dict[str, Any] = {
            "machine": {
                "cores": os.cpu_count(),
                "system": platform.platform(terse=True),
                "python": platform.python_version(),
            }
        }
        # First, while there are no other rows: it leaves none.
        figures["calibration"] = self._calibrate(bench, people, options)
        figures["intake"] = [
            self._say("intake", measure_intake(bench, items=count, batch=batch))
            for count, batch in ((5_000, 500), (500, 1))
        ]
        figures["import"] = self._say(
            "import", measure_import(bench, settings.VAR_DIR, rows=options["import_rows"])
        )
        start_model(bench)
        start_worker(bench, processes=processes)
        both = measure_client_and_pipeline(bench, items=items, processes=processes)
        figures["decisions"] = self._say("decisions", both)
        children.stop()
        web = start_web(bench)
        figures["desk"] = []
        copy = 1
        for open_tasks in options["tasks"]:
            copy = grow_queue(bench, open_tasks=open_tasks, first_copy=copy)
            desk = measure_desk(bench, people["rosa"], rounds=options["rounds"])
            figures["desk"].append(self._say("desk", desk))
            over_http = measure_desk_over_http(bench, web, answers=options["rounds"])
            figures["desk"].append(self._say("desk", over_http))
        pages = measure_pages(bench.workflow, people, size=options["page_items"])
        figures["pages"] = self._say("pages", pages)
        over_http = measure_desk_over_http(bench, web, answers=options["rounds"])
        figures["desk"].append(self._say("desk, with the items of the pages", over_http))
        replayed = measure_replay(bench, items=options["replay_rows"])
        figures["replay"] = self._say("replay", replayed)
        shorten_queue(bench, open_tasks=options["crowd_tasks"])
        crowd = measure_crowd(bench, web, limit_s=CROWD_LIMIT_S)
        figures["crowd"] = self._say("crowd", crowd)
        return figures

    def _calibrate(self, bench: Bench, people: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
        figures = measure_calibration(
            options["recorded"],
            endpoint=bench.workflow.endpoint,
            people=people,
            items_a_week=options["calibration_items"],
        )
        for each in (*figures.get("streams", ()), figures):
            self.stdout.write(f"calibration: {each['measured']}")
        self.stdout.flush()
        return figures

    def _install(self, children: Children) -> tuple[Bench, dict[str, Any]]:
        call_command("migrate", verbosity=0, interactive=False)
        people = add_people()
        endpoint = set_model(None, stand_in_url="http://127.0.0.1:9")
        workflow = install_samples(endpoint, people, now=timezone.now())[0]
        bench = Bench(workflow, open_stream(workflow, SAMPLES), children, settings.VAR_DIR / "log")
        return bench, people

    def _say(self, name: str, figures: dict[str, Any]) -> dict[str, Any]:
        shown = ", ".join(f"{key} {value}" for key, value in figures.items() if key != "measured")
        self.stdout.write(f"{name}: {shown} ({figures['measured']})")
        self.stdout.flush()
        return figures
