"""What a browser would send for a form as it was shown."""

from __future__ import annotations

from html.parser import HTMLParser

from django.test import Client


class _Fields(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.values: dict[str, str] = {}
        self._open: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "input" and given.get("name") and given.get("type") != "checkbox":
            self.values[given["name"]] = given.get("value", "")
        elif tag in ("select", "textarea"):
            self._open = given["name"]
            self.values[given["name"]] = ""
        elif tag == "option" and self._open and "selected" in given:
            self.values[self._open] = given["value"]

    def handle_data(self, data: str) -> None:
        # Only a textarea has text of its own; an option's is shown and not sent.
        if self._open and self._open.endswith("words"):
            self.values[self._open] += data.removeprefix("\n") if not self.values[self._open] else data

    def handle_endtag(self, tag: str) -> None:
        if tag in ("select", "textarea"):
            self._open = None


def shown_fields(client: Client, address: str) -> dict[str, str]:
    """Every field of the page by name, with the value it was shown with."""
    response = client.get(address)
    assert response.status_code == 200
    parser = _Fields()
    parser.feed(response.content.decode())
    parser.values.pop("csrfmiddlewaretoken", None)
    return parser.values
