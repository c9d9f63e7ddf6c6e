"""Reads a submitted notebook as data: which cells are the student's own, and which exercise each answers.

The submission is never trusted about itself. Which exercises a day has, what they are worth, and which cells are ours
is read from the lesson, not from the notebook's metadata.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import CourseError
from .namespaces import Cell

MAX_BYTES = 20 * 1024 * 1024
MAX_CELLS = 2_000
DEFINITION = re.compile(r"^(?:def|class)\s+(\w+)", re.MULTILINE)


class BadSubmission(CourseError):
    """A file that cannot be graded; the message says why and what to hand in instead."""


@dataclass(frozen=True)
class Submission:
    """The student's own cells, in order, under names that a message can use."""

    cells: list[Cell]
    notes: list[str]


def read_submission(path: Path, slug: str, ours: dict[str, str]) -> Submission:
    """The cells of a submitted notebook.

    slug: the day it should be of. ours: {cell id: source} of the release notebook's code cells that are not exercises;
    a submitted code cell with such an id, or with exactly such a source, is skipped (the setup runs from our copy).
    Raises BadSubmission.
    """
    cells = _code_cells(_load(path), path, slug)
    sources = set(map(_normal, ours.values()))
    kept: list[Cell] = []
    notes: list[str] = []
    for number, (cell_id, role, source) in enumerate(cells, start=1):
        if not source.strip() or _normal(source) in sources:
            continue
        if cell_id in ours and role != "exercise" and not DEFINITION.search(source):
            continue
        names = DEFINITION.findall(source)
        name = names[0] if names else f"cell {number}"
        if any(cell.name == name for cell in kept):
            name = f"{name} (cell {number})"
        kept.append(Cell(name, source))
    return Submission(kept, notes)


def _load(path: Path) -> dict[str, Any]:
    if path.is_symlink() or not path.is_file():
        raise BadSubmission(f"{path.name} is not a plain file: hand in the notebook itself")
    size = path.stat().st_size
    if size == 0:
        raise BadSubmission(f"{path.name} is empty: save the notebook and hand it in again")
    if size > MAX_BYTES:
        raise BadSubmission(f"{path.name} has {size / 1e6:.0f} MB, more than {MAX_BYTES / 1e6:.0f}: clear its outputs and hand it in again")
    try:
        notebook = json.loads(path.read_bytes().decode("utf-8"))
    except UnicodeDecodeError:
        raise BadSubmission(f"{path.name} is not UTF-8 text: it is damaged; hand in the notebook as Jupyter saved it") from None
    except (ValueError, RecursionError) as error:
        place = f" (line {error.lineno})" if isinstance(error, json.JSONDecodeError) else ""
        raise BadSubmission(f"{path.name} is not JSON{place}: it is cut off or damaged; save the notebook and hand it in again") from None
    if not isinstance(notebook, dict) or not isinstance(notebook.get("cells"), list):
        raise BadSubmission(f"{path.name} is JSON but no notebook (no list of cells): hand in the .ipynb file")
    return notebook


def _code_cells(notebook: dict[str, Any], path: Path, slug: str) -> list[tuple[str, str, str]]:
    course = _dict(_dict(notebook.get("metadata")).get("course"))
    other = course.get("slug")
    if isinstance(other, str) and other != slug:
        raise BadSubmission(f"{path.name} is the notebook of {other[:60]}, not of {slug}: hand in {slug}.ipynb")
    if len(notebook["cells"]) > MAX_CELLS:
        raise BadSubmission(f"{path.name} has {len(notebook['cells']):,} cells, more than {MAX_CELLS:,}: delete the surplus")
    found = []
    for cell in notebook["cells"]:
        cell = _dict(cell)
        source = cell.get("source", "")
        if isinstance(source, list):
            source = "".join(part for part in source if isinstance(part, str))
        if cell.get("cell_type") != "code" or not isinstance(source, str):
            continue
        role = _dict(_dict(cell.get("metadata")).get("course")).get("role")
        found.append((str(cell.get("id", "")), str(role), source))
    return found


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _normal(source: str) -> str:
    return "\n".join(line.rstrip() for line in source.strip().splitlines())
