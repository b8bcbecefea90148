"""An event as a mail in plain text. Off unless a mail server is configured, and says so."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.mail import EmailMessage, get_connection

from apps.outbox.events import ALARM_RAISED, POLICY_ACTIVATED
from apps.outbox.models import Event, Subscription
from apps.outbox.posting import Outcome

TIMEOUT_S = 10
LONGEST_SUBJECT = 150
LONGEST_VALUE = 2_000
MOST_LINES = 200
NO_SERVER = "No mail server is configured (EMAIL_HOST)."
TITLES = {POLICY_ACTIVATED: "Policy activated", ALARM_RAISED: "Alarm"}


def mail_is_on() -> bool:
    return bool(settings.EMAIL_HOST)


def mail_event(event: Event, subscription: Subscription) -> Outcome:
    """One try; the mail server is asked with TIMEOUT_S for each of its answers. OSError covers SMTP's refusals."""
    if not mail_is_on():
        return Outcome(False, error=f"Not sent: {NO_SERVER}")
    host = settings.EMAIL_FROM.rpartition("@")[2].rstrip(">")
    message = EmailMessage(
        subject=subject_of(event),
        body=text_of(event),
        from_email=settings.EMAIL_FROM,
        to=[subscription.address],
        # The same at every try, so that a mail program shows what came twice once.
        headers={"Message-ID": f"<{event.public_id}@{host}>", "Auto-Submitted": "auto-generated"},
        connection=get_connection(timeout=TIMEOUT_S),
    )
    try:
        message.send()
    except OSError as error:
        return Outcome(False, error=f"The mail server did not take it ({type(error).__name__}).")
    return Outcome(True)


def subject_of(event: Event) -> str:
    title = TITLES.get(event.type, event.type)
    return " ".join(f"{event.workflow.name}: {title}".split())[:LONGEST_SUBJECT]


def text_of(event: Event) -> str:
    """The sentence for people, then what else the event says, a line each."""
    facts = {key: value for key, value in sorted(event.data.items()) if key != "text"}
    lines = [line for key, value in facts.items() for line in _lines(key, value, 0)]
    more = [f"… and {len(lines) - MOST_LINES:,} more lines"] if len(lines) > MOST_LINES else []
    about = f"Sent by Fermata for the workflow {event.workflow.slug}; event {event.public_id}."
    return "\n".join([str(event.data.get("text", "")), "", *lines[:MOST_LINES], *more, "", about]).lstrip()


def _lines(key: str, value: Any, depth: int) -> list[str]:
    name = f"{'  ' * depth}{key.replace('_', ' ')}"
    if isinstance(value, dict):
        return [
            f"{name}:",
            *(line for at, each in sorted(value.items()) for line in _lines(at, each, depth + 1)),
        ]
    if isinstance(value, list):
        return [f"{name}: {'; '.join(str(each) for each in value)[:LONGEST_VALUE]}"]
    return [] if value in (None, "") else [f"{name}: {str(value)[:LONGEST_VALUE]}"]
