"""`make demo`: everything, running, with sample data, until it is told to stop."""

from __future__ import annotations

import http.client
import logging
import os
import secrets
import sys
import time
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError, close_old_connections, connections
from django.utils import timezone

from apps.core.embedded import EmbeddedServers
from apps.core.embedded_processes import free_port, wait_until
from apps.demo.children import Child, ChildDied, Children
from apps.demo.feed import Feeder, add_backlog, open_stream
from apps.demo.ground import BEAT_SCHEDULE
from apps.demo.installation import (
    PASSWORD,
    PEOPLE,
    SAMPLES,
    STAND_IN_MODEL,
    add_people,
    install_samples,
    keep_tokens,
    known_tokens,
    set_model,
    strangers,
    write_facts,
)
from apps.demo.watch import Watch, watch_from_now
from apps.pipeline.endpoints import cloudflare_secret
from apps.workflows.models import Workflow

WEB_LIMIT_S = 60.0
TICK_S = 0.5


class Command(BaseCommand):
    help = "Everything on this machine, with sample workflows, people and arriving items; Ctrl-C stops it."
    # Settings start the servers; what has to come before that is in apps/demo/__main__.py.
    requires_system_checks = ()
    stealth_options = ("prepared",)

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--port", type=int, help="of the web server, on loopback; 8000 unless PORT is set"
        )
        parser.add_argument("--fresh", action="store_true", help="delete the demo's data first")

    def handle(self, *args: Any, **options: Any) -> None:
        if not options.get("prepared"):
            port = ["--port", str(options["port"])] if options["port"] else []
            fresh = ["--fresh"] if options["fresh"] else []
            program = [sys.executable, "-m", "apps.demo", *port, *fresh]
            os.chdir(settings.BASE_DIR)
            os.execv(sys.executable, program)  # noqa: S606 - in place of this process, without a shell
        # This process's own log lines would be mixed into what it tells people; errors are told in sentences.
        logging.getLogger().setLevel(logging.ERROR)
        demo = Demo(self, settings.VAR_DIR, int(os.environ["PORT"]))
        try:
            demo.start()
            demo.watch_over()
        except ChildDied as error:
            raise CommandError(str(error)) from error
        finally:
            demo.children.stop()

    def say(self, text: str) -> None:
        self.stdout.write(text)
        self.stdout.flush()


class Demo:
    def __init__(self, command: Command, var: Path, port: int) -> None:
        self.say = command.say
        self.var = var
        self.url = f"http://127.0.0.1:{port}"
        self.port = port
        self.children = Children()
        self.cloudflare = cloudflare_secret(os.environ)
        self.stand_in_port = free_port()
        self.feeder = Feeder((), lambda: secrets.SystemRandom().uniform(2, 5))
        self.watch = Watch(0)

    def start(self) -> None:
        self._refuse_real_database()
        with self._step("Tables are up to date"):
            call_command("migrate", verbosity=0, interactive=False)
        # Started first: while the rest is set up, it loads.
        self._start_child(
            "web", "web server", "gunicorn", "-c", "apps/config/gunicorn.py", "apps.config.wsgi:application"
        )
        with self._step("People and workflows are there"):
            workflows, tokens = self._install()
        self._start_workers()
        with self._step("Sign-in page answers"):
            self._wait_for_web()
        self._tell(workflows, tokens)
        self.watch = watch_from_now()
        self._first_items(workflows)

    def _refuse_real_database(self) -> None:
        others = strangers()
        if others:
            where, way_out = "The database that DATABASE_URL names", "unset DATABASE_URL and REDIS_URL"
            if settings.PLACES.embedded:
                where = f"The database in {self.var}"
                way_out = (
                    "set FERMATA_VAR to another folder, or delete all of this one by `make demo FRESH=1`"
                )
            raise CommandError(
                f"{where} has people who are not the demo's ({', '.join(others)} …). The demo adds people whose "
                f"password everybody knows, so it takes a database of its own: {way_out}."
            )

    def _install(self) -> tuple[list[Workflow], dict[str, str]]:
        now = timezone.now()
        endpoint = set_model(self.cloudflare, stand_in_url=f"http://127.0.0.1:{self.stand_in_port}")
        people = add_people()
        workflows = install_samples(endpoint, people, now=now)
        facts = self.var / "demo.json"
        tokens = keep_tokens(workflows, people["mara"], known_tokens(facts), now=now)
        write_facts(facts, url=self.url, tokens=tokens, model=self.model)
        return workflows, tokens

    @property
    def model(self) -> str:
        return STAND_IN_MODEL if self.cloudflare is None else "clef"

    def _start_workers(self) -> None:
        if self.cloudflare is None:
            port = str(self.stand_in_port)
            self._start_child("model", "stand-in model", "apps.clef.local.server", "--port", port)
        app = ("celery", "-A", "apps.config")
        quick = ("--without-gossip", "--without-mingle")
        self._start_child(
            "worker", "worker", *app, "worker", "--concurrency", "2", "--loglevel", "INFO", *quick
        )
        schedule = str(self.var / BEAT_SCHEDULE)
        self._start_child("beat", "beat", *app, "beat", "--loglevel", "INFO", "--schedule", schedule)

    def _start_child(self, log: str, name: str, *module_and_options: str) -> None:
        arguments = (sys.executable, "-m", *module_and_options)
        self.children.start(Child(name, arguments, self.var / "log" / f"{log}.log", settings.BASE_DIR))

    def _wait_for_web(self) -> None:
        def is_up() -> bool:
            self._keep_children()
            return answers(self.port, "/sign-in/")

        if not wait_until(is_up, WEB_LIMIT_S):
            raise CommandError(
                f"The web server does not answer within {WEB_LIMIT_S:.0f} s; its log is {self.var / 'log/web.log'}."
            )

    def _first_items(self, workflows: list[Workflow]) -> None:
        streams = [open_stream(workflow, SAMPLES) for workflow in workflows]
        new = sum(add_backlog(stream, now=timezone.now()) for stream in streams)
        self.feeder.streams = streams
        if new:
            self.say(f"{new} items lie in the inbox and are being classified; more arrive every few seconds.")

    def watch_over(self) -> None:
        """Until a signal ends it: keeps everything running, hands in items, tells what became of them."""
        while True:
            self._keep_children()
            said = self._keep_servers()
            try:
                close_old_connections()
                said += [*self.watch.news(), *self.feeder.tick(now=timezone.now())]
            except OperationalError:
                connections.close_all()  # PostgreSQL has just died: the next turn starts it
            for line in said:
                self.say(f"{timezone.localtime():%H:%M:%S}  {line}")
            time.sleep(TICK_S)

    def _keep_servers(self) -> list[str]:
        servers = EmbeddedServers(self.var)
        if not settings.PLACES.embedded or servers.running():
            return []
        servers.start()
        connections.close_all()
        return ["PostgreSQL or Valkey was away; both run again."]

    def _keep_children(self) -> None:
        for line in self.children.keep_alive():
            self.say(line)

    def _tell(self, workflows: list[Workflow], tokens: dict[str, str]) -> None:
        slug = workflows[0].slug
        if self.cloudflare is None:
            model = (
                f"{STAND_IN_MODEL}, a small stand-in on this machine: nothing leaves it. With CLOUDFLARE_ACCOUNT_ID\n"
                "             and CLOUDFLARE_API_TOKEN set, the same command asks Clef itself."
            )
        else:
            model = f"Clef on Workers AI: sample items are sent there, at {settings.CLOUDFLARE_API_BASE}"
        tokens_by_workflow = "\n".join(
            f"Workflow     {workflow.slug}, token {tokens[workflow.slug]}" for workflow in workflows
        )
        reviewers = " and ".join(name for name, role in PEOPLE.items() if role == "reviewer")
        self.say(
            f"\nFermata runs: {self.url}\n"
            f"Sign in as   {reviewers} (review), mara (manages), olga (operates); password {PASSWORD}\n"
            f"Model        {model}\n"
            f"{tokens_by_workflow}\n"
            f"Post an item curl {self.url}/api/v1/workflows/{slug}/items -H 'Content-Type: application/json' \\\n"
            f"               -H 'Authorization: Bearer {tokens[slug]}' \\\n"
            '               -d \'{"external_id": "mine-1", "state": "Do you offer a demo for 40 technicians?"}\'\n'
            f"For scripts  {self.var / 'demo.json'}; logs in {self.var / 'log'}\n"
            "Ctrl-C stops everything.\n"
        )

    @contextmanager
    def _step(self, done: str) -> Iterator[None]:
        started = time.monotonic()
        yield
        self.say(f"{done} ({time.monotonic() - started:.1f} s)")


def answers(port: int, path: str) -> bool:
    """Whether our web server says 200 there, or would after signing in."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
