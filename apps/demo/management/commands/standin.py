"""The stand-in model: run it alone, make the demo's misbehave, or measure it on a labelled file."""

from __future__ import annotations

import math
import os
import sys
from argparse import ArgumentParser
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from apps.clef.local.embeddings import ExtraMissing, choose_embedder
from apps.clef.local.reading import Reader
from apps.clef.local.server import add_options, fault_lines
from apps.demo.standin_evaluation import Split, UnreadableFile, evaluate, read_labelled, report, split
from apps.workflows.models import Endpoint

TIMEOUT_S = 10.0


class Command(BaseCommand):
    help = (
        "Runs the local stand-in model on loopback, as `python -m apps.clef.local.server` does. "
        "--misbehave rehearses an outage with one that runs; --evaluate measures it on a labelled file."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_options(parser)
        outage = parser.add_argument_group("rehearse an outage")
        outage.add_argument(
            "--misbehave",
            nargs="+",
            metavar="FAULT",
            help="the stand-in that runs does so, for --for SECONDS",
        )
        outage.add_argument("--behave", action="store_true", help="ends what --misbehave began")
        outage.add_argument("--url", help="of the stand-in that runs; else the one that items are sent to")
        measure = parser.add_argument_group("measure it")
        measure.add_argument("--evaluate", type=Path, metavar="FILE", help="CSV or JSONL with labelled texts")
        measure.add_argument("--text", default="text", metavar="FIELD", help="which field is the text")
        measure.add_argument("--labels", default="label", metavar="FIELD", help="which field is the label")
        measure.add_argument(
            "--examples-per-option",
            type=int,
            nargs="+",
            default=[0],
            metavar="N",
            help="0, unless told: names alone; several numbers are measured in turn",
        )
        measure.add_argument(
            "--examples", type=Path, metavar="FILE", help="take them from this file, and ask all of the other"
        )
        measure.add_argument("--at-most", type=int, metavar="N", help="ask no more texts than that")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["list_faults"]:
            self.stdout.write(fault_lines())
        elif options["misbehave"] or options["behave"]:
            self._misbehave(options)
        elif options["evaluate"]:
            self._evaluate(options)
        else:
            _run(options)

    def _misbehave(self, options: Mapping[str, Any]) -> None:
        names = options["misbehave"] or []
        wanted: dict[str, Any] = {"faults": names, "repeat": True}
        if options["for_s"] is not None:
            # Not a number, which JSON has no word for, lasts no time either.
            wanted["for_seconds"] = options["for_s"] if math.isfinite(options["for_s"]) else 0
        url = options["url"] or _address()
        try:
            reply = httpx.post(f"{url}/faults", json=wanted, timeout=TIMEOUT_S, trust_env=False)
        except httpx.HTTPError as problem:
            raise CommandError(f"No stand-in answers at {url} ({problem}); does the demo run?") from problem
        except httpx.InvalidURL as problem:
            raise CommandError(f"{url} is not an address: {problem}") from problem
        if reply.status_code != 200:
            raise CommandError(f"The stand-in at {url} refuses that: {reply.text[:500]}")
        lasts = "until --behave" if options["for_s"] is None else f"for {options['for_s']:g} s"
        done = f"answers every decision with {', '.join(names)} {lasts}" if names else "behaves again"
        self.stdout.write(f"The stand-in at {url} {done}.")

    def _evaluate(self, options: Mapping[str, Any]) -> None:
        fields = {"text": options["text"], "label": options["labels"]}
        try:
            rows = read_labelled(options["evaluate"], **fields)
            teaching = read_labelled(options["examples"], **fields) if options["examples"] else None
            reader = Reader(choose_embedder(options["model"]))
            for number in options["examples_per_option"]:
                parts = split(rows, per_option=number, teaching=teaching)
                parts = Split(parts.examples, parts.asked[: options["at_most"]])
                self.stdout.write("\n".join([*report(evaluate(parts, reader)), ""]))
                self.stdout.flush()
        except (UnreadableFile, ExtraMissing) as problem:
            raise CommandError(str(problem)) from problem


def _address() -> str:
    found = Endpoint.objects.filter(model__startswith="standin-").order_by("pk").last()
    if found is None:
        raise CommandError("No workflow asks a stand-in here; give its address by --url.")
    return found.base_url.removesuffix("/").removesuffix("/v1").removesuffix("/client/v4")


def _run(options: Mapping[str, Any]) -> None:
    arguments = [
        f"--port={options['port']}",
        f"--delay-ms={options['delay_ms']}",
        f"--model={options['model']}",
    ]
    if options["for_s"] is not None:
        arguments.append(f"--for={options['for_s']}")
    if options["faults"]:
        arguments += ["--faults", *options["faults"]]
    os.chdir(settings.BASE_DIR)
    # In place of this process: the server needs neither Django nor its memory.
    os.execv(sys.executable, [sys.executable, "-m", "apps.clef.local.server", *arguments])  # noqa: S606 - no shell
