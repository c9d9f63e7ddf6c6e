"""What came out as it must for a whole day, kept with the course by a digest of all that it depends on, as a specimen's judgement is.

Of what is kept, `SHARE` is found out again each time. `python -m tests.kept_days`, a part of `make keep`, finds out what is not kept.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat

from autograder.certified import files, judges, what_counts
from autograder.files import write_whole
from autograder.grading.limits import Limits
from autograder.imports import imported_files
from autograder.lessons import ROOT, Day, release_notebook_path, solved_notebook, syllabus
from autograder.site.execute import key

KEPT = ROOT / "tests" / "kept_days.json"
"""{a day's slug: {what came out: digest}}"""
SHARE = float(os.environ.get("CERTIFY_SHARE", "0.025"))
"""One in forty, and in CI, which asks for it, one in ten: as of the kept judgements of specimens (test_certify.py)."""

Finds = Callable[[Day, Path], None]
"""Finds out about a day, in a folder that is there for it, and raises where it is not as it must be."""


def hold(day: Day, finds: tuple[Finds, ...], folder: Path, kept: Path = KEPT) -> list[str]:
    """Raises what one of `finds` raises. Finds nothing out where that is kept and not drawn. Returns what was found out, and why.

    EXECUTE_DRAW=all, none or one day's slug says which are drawn.
    """
    told = depends_on(day)
    draw = os.environ.get("EXECUTE_DRAW")
    said = []
    for find in finds:
        known = is_kept(day, find, told, kept)
        drawn = random.random() < SHARE if draw is None else draw in ("all", day.slug)
        if known and not drawn:
            continue
        (own := folder / find.__name__).mkdir(exist_ok=True)
        find(day, own)
        said.append(f"{find.__name__}, {'drawn' if known else 'not kept'}")
    return said


def is_kept(day: Day, find: Finds, told: str, kept: Path = KEPT) -> bool:
    return read(kept).get(day.slug, {}).get(find.__name__) == digest(find, told)


def digest(find: Finds, told: str) -> str:
    return hashlib.sha256(f"{told}\0{inspect.getsource(find)}".encode()).hexdigest()[:16]


def depends_on(day: Day) -> str:
    """A digest of whatever could make a day come out otherwise: its two notebooks, how they are graded and run."""
    days = [each for each in syllabus() if each.ready]
    cells = [[cell.source for cell in notebook.cells if cell.cell_type == "code"] for notebook in notebooks(day)]
    told = hashlib.sha256(repr((judges(day.topic, Limits()), cells, [key(day, days, each) for each in cells])).encode())
    for path in sorted(imported_files(ROOT, ["autograder.grading.grade"]) - set(files(day.topic))):
        told.update(what_counts(ROOT / path))
    return told.hexdigest()


def notebooks(day: Day) -> list[nbformat.NotebookNode]:
    """As it is handed out, and solved."""
    return [nbformat.read(release_notebook_path(day), as_version=4), solved_notebook(day)]


def read(kept: Path) -> dict[str, Any]:
    return json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}


def write(kept: Path, entries: dict[str, Any]) -> None:
    write_whole(kept, (json.dumps(entries, indent=1, sort_keys=True) + "\n").encode())


def keep(finds: tuple[Finds, ...], kept: Path = KEPT) -> None:
    """Finds out what is not kept, and keeps it. Raises what a `find` raises; what came out before that is kept."""
    entries = read(kept)
    for day in (day for day in syllabus() if day.ready):
        told = depends_on(day)
        for find in finds:
            if is_kept(day, find, told, kept):
                continue
            with tempfile.TemporaryDirectory() as folder:
                find(day, Path(folder))
            print(f"{day.slug}: {find.__name__}", flush=True)
            entries.setdefault(day.slug, {})[find.__name__] = digest(find, told)
            write(kept, entries)


if __name__ == "__main__":
    from tests import test_days

    keep(test_days.FINDS)
