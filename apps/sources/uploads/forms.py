"""What a person says about a file of rows: its encoding, its separator, and which column is what."""

from __future__ import annotations

from typing import Any

from django import forms
from django.http import QueryDict

from apps.sources.models import Upload
from apps.sources.tables.columns import Roles
from apps.sources.tables.encodings import known_encoding
from apps.sources.tables.times import TimeFormat
from apps.sources.tables.understanding import Kind
from apps.sources.uploads.selectors import understanding_of

SINGLE = {"external_id": "Id", "received_at": "Time received", "group": "Group", "priority": "Priority"}
TEXT, METADATA, IGNORED = "text", "metadata", "ignored"
ROLES = [
    ("external_id", "Id"),
    (TEXT, "Text to decide about"),
    ("received_at", "Time received"),
    ("group", "Group (thread, order)"),
    ("priority", "Priority"),
    (METADATA, "Metadata"),
    (IGNORED, "Left out"),
]
ENCODINGS = (
    ("utf-8", "UTF-8"),
    ("utf-16-le", "UTF-16, little endian"),
    ("utf-16-be", "UTF-16, big endian"),
    ("cp1252", "Western (Windows-1252)"),
    ("iso8859-15", "Western (ISO 8859-15)"),
    ("cp1250", "Central European (Windows-1250)"),
    ("iso8859-2", "Central European (ISO 8859-2)"),
    ("cp1251", "Cyrillic (Windows-1251)"),
    ("koi8-r", "Cyrillic (KOI8-R)"),
    ("cp1253", "Greek (Windows-1253)"),
    ("cp1254", "Turkish (Windows-1254)"),
    ("cp1255", "Hebrew (Windows-1255)"),
    ("cp1256", "Arabic (Windows-1256)"),
    ("iso8859-6", "Arabic (ISO 8859-6)"),
    ("cp932", "Japanese (Shift-JIS)"),
    ("euc_jp", "Japanese (EUC-JP)"),
    ("gb18030", "Chinese (GB 18030)"),
    ("big5", "Chinese (Big5)"),
    ("cp949", "Korean (EUC-KR)"),
    ("cp850", "DOS Western (850)"),
    ("cp437", "DOS (437)"),
)
DELIMITERS = ((",", "Comma"), (";", "Semicolon"), ("\t", "Tab"), ("|", "Bar"))
TIME_FORMATS = (
    (TimeFormat.ISO, "2026-11-30 09:00 (ISO)"),
    (TimeFormat.DMY, "Day first: 30.11.2026"),
    (TimeFormat.MDY, "Month first: 11/30/2026"),
    (TimeFormat.YMD, "Year first: 2026/11/30"),
    (TimeFormat.UNIX, "Seconds since 1970"),
)


class UploadForm(forms.Form):
    """One select a column beside what the whole file is. `mapped` gives them with the column's first values."""

    seen = forms.CharField(max_length=16, widget=forms.HiddenInput)
    encoding = forms.ChoiceField(label="Encoding", required=False)
    delimiter = forms.ChoiceField(label="Separator", required=False)
    time_format = forms.ChoiceField(label="Dates are written", required=False)
    is_id_of_content = forms.BooleanField(
        label="No column is the id: make one of each row's content",
        required=False,
        help_text="The same row again is then the same item; a row with one letter changed is another.",
    )

    def __init__(self, data: QueryDict | None = None, *, upload: Upload, seen: str) -> None:
        self.found = understanding_of(upload)
        chosen = upload.understood.get("chosen", {})
        roles = self.found.roles
        initial = {
            "seen": seen,
            "encoding": chosen.get("encoding", ""),
            "delimiter": chosen.get("delimiter", ""),
            "time_format": roles.time_format or "",
            "is_id_of_content": upload.understood["is_id_of_content"],
        }
        super().__init__(data, initial=initial)
        self._offer(found_by_itself=not chosen.get("encoding"), delimiter_found=not chosen.get("delimiter"))
        if self.found.kind is not Kind.CSV:
            del self.fields["delimiter"]
        for index, column in enumerate(self.found.columns):
            self.fields[f"column-{index}"] = forms.ChoiceField(
                choices=ROLES,
                initial=_role_of(column, roles),
                label=column,
                widget=forms.Select(attrs={"aria-label": f"What the column {column} is"}),
            )

    def _offer(self, *, found_by_itself: bool, delimiter_found: bool) -> None:
        encodings = dict(ENCODINGS)
        name = encodings.get(self.found.encoding, self.found.encoding)
        found = f"{name}, {self.found.encoding_found}" if found_by_itself else "Find it out"
        if self.found.encoding not in encodings:
            encodings[self.found.encoding] = self.found.encoding
        separator = dict(DELIMITERS).get(self.found.delimiter, self.found.delimiter)
        delimiter = f"{separator} (found)" if delimiter_found else "Find it out"
        self._choices("encoding", [("", found), *encodings.items()])
        self._choices("delimiter", [("", delimiter), *DELIMITERS])
        self._choices(
            "time_format", [("", "Say which"), *((each.value, name) for each, name in TIME_FORMATS)]
        )

    def _choices(self, name: str, choices: list[tuple[str, str]]) -> None:
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField)  # noqa: S101 - tells the type checker what stands above
        field.choices = choices

    @property
    def mapped(self) -> list[tuple[str, list[str], forms.BoundField]]:
        """Name of the column, its first values that are not empty, its select."""
        return [
            (
                column,
                [row[index] for row in self.found.rows if index < len(row) and row[index].strip()][:3],
                self[f"column-{index}"],
            )
            for index, column in enumerate(self.found.columns)
        ]

    def clean_encoding(self) -> str:
        name: str = self.cleaned_data["encoding"]
        return known_encoding(name) or "" if name else ""

    def clean(self) -> dict[str, Any]:
        columns = self._by_role()
        for role, name in SINGLE.items():
            for column in columns[role][1:]:
                index = self.found.columns.index(column)
                self.add_error(f"column-{index}", f"{name} is {columns[role][0]} already.")
        if columns["external_id"] and self.cleaned_data.get("is_id_of_content"):
            self.add_error(
                "is_id_of_content", f"{columns['external_id'][0]} is the id: choose one of the two."
            )
        if self.found.columns and not self._is_other_file:
            self._check_whole(columns)
        return self.cleaned_data

    def _check_whole(self, columns: dict[str, list[str]]) -> None:
        if not columns[TEXT]:
            self.add_error(None, "Say which column is the text to decide about.")
        if not columns["external_id"] and not self.cleaned_data.get("is_id_of_content"):
            self.add_error("is_id_of_content", "Say which column is the id, or let the content be it.")
        if columns["received_at"] and not self.cleaned_data.get("time_format"):
            self.add_error("time_format", "Say how the dates are written.")

    @property
    def _is_other_file(self) -> bool:
        """Read otherwise it has other columns: what was said about these says nothing."""
        return bool({"encoding", "delimiter"} & set(self.changed_data))

    def _by_role(self) -> dict[str, list[str]]:
        columns: dict[str, list[str]] = {role: [] for role, _ in ROLES}
        for index, column in enumerate(self.found.columns):
            role = self.cleaned_data.get(f"column-{index}")
            if role:
                columns[role].append(column)
        return columns

    def to_roles(self) -> Roles:
        """Of a valid form. No column left out means that fields which come later in the file are taken, too."""
        columns = self._by_role()
        single = {role: (columns[role] or [""])[0] for role in SINGLE}
        time_format = self.cleaned_data["time_format"]
        return Roles(
            texts=tuple(columns[TEXT]),
            time_format=TimeFormat(time_format) if time_format and single["received_at"] else None,
            metadata=tuple(columns[METADATA]) if columns[IGNORED] else None,
            **single,
        )


def _role_of(column: str, roles: Roles) -> str:
    for role in SINGLE:
        if getattr(roles, role) == column:
            return role
    if column in roles.texts:
        return TEXT
    return METADATA if roles.metadata is None or column in roles.metadata else IGNORED
