"""How fast a table goes in, beside what the database needs for its bare rows."""

from __future__ import annotations

import csv
import io
import resource
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.db import connection
from django.utils import timezone

from apps.demo.measuring import Bench, paused, rate, timed
from apps.items.models import Item, ItemContent
from apps.sources.tables.importing import Import
from apps.sources.tables.reading import read_rows, read_sample
from apps.sources.tables.understanding import understand


def measure_import(bench: Bench, folder: Path, *, rows: int) -> dict[str, Any]:
    """As `import_items` does it: a CSV file read, checked and stored, all indexes kept. Its items are deleted."""
    path = folder / "import.csv"
    with path.open("w", encoding="utf-8") as file:
        file.writelines(_lines(bench, rows))
    with timed() as copied:
        _copy(path)
    before = _peak_mib()
    run = Import(bench.workflow)
    with paused(bench.workflow.endpoint), path.open("rb") as stream, timed() as took:
        found = understand(read_sample(path), name=path.name)
        refused = sum(1 for _ in run.take(read_rows(stream, found), now=timezone.now(), reads_ahead=True))
    peak = _peak_mib()
    path.unlink()
    made = Item.objects.filter(workflow=bench.workflow, external_id__startswith="import-")
    ItemContent.objects.filter(item__in=made).delete()
    made.delete()
    return {
        "import_rows_per_s": rate(rows, took()),
        "bare_copy_rows_per_s": rate(rows, copied()),
        "ratio_to_bare_copy": round(copied() / took(), 3),
        "rows": rows,
        "accepted": run.counts.accepted,
        "refused": refused,
        "more_memory_mib": round(peak - before, 1),
        "measured": "a CSV file as import_items takes it; bare: COPY of the same rows into a table without indexes",
    }


def _lines(bench: Bench, rows: int) -> Iterator[str]:
    """Texts of the samples over and over, each with an id, a word and an amount."""
    texts = [each.text for each in bench.incoming("import", min(rows, 1_000))]
    yield "id,text,label,amount\n"
    for number in range(rows):
        line = io.StringIO()
        cells = (f"import-{number}", texts[number % len(texts)], "sample", f"{number % 1_000}.50")
        csv.writer(line, lineterminator="\n").writerow(cells)
        yield line.getvalue()


def _copy(path: Path) -> None:
    with connection.cursor() as cursor, path.open("rb") as file:
        cursor.execute("CREATE TABLE bare_copy (id text, body text, label text, amount numeric)")
        with cursor.copy("COPY bare_copy FROM STDIN (FORMAT csv, HEADER)") as copy:
            while chunk := file.read(1 << 16):
                copy.write(chunk)
        cursor.execute("DROP TABLE bare_copy")


def _peak_mib() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)
