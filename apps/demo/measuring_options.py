"""The options of `manage.py bench`, readable before Django is loaded."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path

RECORDED = Path(__file__).resolve().parents[3] / "shared" / "data"
"""Beside the project: `model-probs-clinc150`, `model-probs-banking77` and `clinc150-oos`."""


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--items", type=int, default=2_000, help="decided by the bare client and the pipeline"
    )
    parser.add_argument("--processes", type=int, default=3, help="of the Celery worker")
    parser.add_argument(
        "--tasks", type=int, nargs="*", default=[10_000, 100_000], help="open on the desk, rising"
    )
    parser.add_argument(
        "--crowd-tasks", type=int, default=20_000, help="open when fifty reviewers start together"
    )
    parser.add_argument("--import-rows", type=int, default=100_000, help="of the CSV file that is imported")
    parser.add_argument("--rounds", type=int, default=200, help="answers given at each number of open tasks")
    parser.add_argument(
        "--replay-rows", type=int, default=1_000_000, help="decisions a policy is replayed over"
    )
    parser.add_argument(
        "--page-items",
        type=int,
        default=1_000_000,
        help="decisions behind the pages of numbers; takes minutes",
    )
    parser.add_argument(
        "--recorded", type=Path, default=RECORDED, help="folder of real models' recorded answers"
    )
    parser.add_argument(
        "--calibration-items", type=int, default=400, help="a week, of each recorded model; for 12 weeks"
    )
