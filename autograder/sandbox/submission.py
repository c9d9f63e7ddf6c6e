"""Submitted notebooks read as data: the student's own cells, and the exercise that each one answers.

A submission's statements about itself are never trusted. The lesson, not the notebook's metadata, says which exercises a day has, how many
points each is worth, and which cells are the course's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..base.errors import CourseError
from ..base.verdicts import NO_CELL
from ..lessons.first_cell import comparable
from .protocol.text import all_encodable, json_may_hold_a_half_pair
from .submitted_file import SubmittedFile, collect

MAX_CELLS = 2_000
MAX_LISTS = 1_000_000
MAX_NAME = 100
DEFINITION = re.compile(r"^(?:def|class)\s+(\w+)", re.MULTILINE)


GIVEN = r"(?m)^\s*(?:{0} *[=:]|(?:from .+ )?import .*\b{0}\b)"
"""Pattern for the other ways in which a cell binds a name: an assignment or an import."""


class BadSubmission(CourseError):
    """A file that cannot be graded; the message says why and what to hand in instead."""


@dataclass
class Cell:
    """A cell of a submission.

    name: the name in messages, which is the exercise or the cell's number. source: the cell's code.
    """

    name: str
    source: str


@dataclass(frozen=True)
class Submission:
    """The student's own cells, in order, under names that a message can use.

    homes: {function or class: name of the last cell that defines it or was handed out for it}. notes: {exercise: a sentence about a problem
    with its cells}, for the exercises that the caller asked about.
    """

    cells: list[Cell]
    homes: dict[str, str]
    notes: dict[str, str] = field(default_factory=dict)


def read_submission(path: Path, slug: str, ours: dict[str, str], exercises: Iterable[str] = ()) -> Submission:
    """Return the student's own cells of the notebook at `path`, as `submission_in` does. Raises BadSubmission."""
    return submission_in(collect(path), slug, ours, exercises)


def submission_in(file: SubmittedFile, slug: str, ours: dict[str, str], exercises: Iterable[str] = ()) -> Submission:
    """Return the student's own cells of a submitted notebook.

    slug: the expected day. ours: {cell id: source} of the release notebook's code cells that are not exercises; a submitted code cell is
    skipped if its source is exactly one of these sources. A cell with one of these ids is also skipped if it defines no function or class:
    the setup runs from our copy. exercises: the exercises whose cells are examined for `notes`. Raises BadSubmission.
    """
    notebook = notebook_in(file, slug)
    cells = _code_cells(notebook)
    sources = set(map(comparable, ours.values()))
    found: list[Cell] = []
    homes: dict[str, str] = {}
    taken = {"setup"}  # the name of our own cell
    for number, (cell_id, role, source) in enumerate(cells, start=1):
        if not source.strip() or comparable(source) in sources:
            continue
        definitions = DEFINITION.findall(source)
        if cell_id in ours and role != "exercise" and not definitions:
            continue
        given = [cell_id.removeprefix("exercise-")] if cell_id.startswith("exercise-") else []
        name = next((n for n in [*given, *definitions] if n not in taken and len(n) <= MAX_NAME), f"cell {number}")
        taken.add(name)
        homes |= dict.fromkeys([*given, *definitions], name)
        found.append(Cell(name, source))
    return Submission(found, homes, cell_notes(notebook, found, exercises))


def cell_notes(notebook: dict[str, Any], own: list[Cell], exercises: Iterable[str]) -> dict[str, str]:
    """Return {exercise: a sentence} for exercises whose cell is missing or no code cell, or that two cells define differently.

    own: the student's own code cells; any of them may give the name a value. Cells count from 1.
    """
    notes: dict[str, str] = {}
    cells = [(number, _dict(cell), cell_source(_dict(cell)) or "") for number, cell in enumerate(notebook["cells"], start=1)]
    for name in exercises:
        mine = [(n, cell, source) for n, cell, source in cells if _is_home(cell, name) or name in DEFINITION.findall(source)]
        code = [(n, source) for n, cell, source in mine if cell.get("cell_type") == "code"]
        other = [(n, cell) for n, cell, _ in mine if cell.get("cell_type") != "code"]
        defining = [(n, source) for n, source in code if name in DEFINITION.findall(source)]
        if len({comparable(source) for _, source in defining}) > 1:
            places = ", ".join(str(n) for n, _ in defining[:-1])
            notes[name] = f"cells {places} and {defining[-1][0]} define {name}; the last one counts"
        elif not code and other:
            kind = {"markdown": "a Markdown", "raw": "a raw"}.get(str(other[0][1].get("cell_type")), "no code")
            notes[name] = f"{NO_CELL} ({other[0][0]}) is {kind} cell, which does not run: make it a code cell (in Jupyter: Esc, then Y)"
        elif not code and not any(re.search(GIVEN.format(name), cell.source) for cell in own):
            notes[name] = f"{NO_CELL} is missing from the notebook: copy the cell from a new notebook, and put your answer into it"
    return notes


def _is_home(cell: dict[str, Any], name: str) -> bool:
    """Return whether a cell was handed out for an exercise: by its id, or by its metadata if the id was lost."""
    course = _dict(_dict(cell.get("metadata")).get("course"))
    return cell.get("id") == f"exercise-{name}" or (course.get("role") == "exercise" and course.get("exercise") == name)


def load_notebook(path: Path, slug: str) -> dict[str, Any]:
    """Return the JSON of the notebook at `path`, as `notebook_in` does. Raises BadSubmission."""
    return notebook_in(collect(path), slug)


def notebook_in(file: SubmittedFile, slug: str) -> dict[str, Any]:
    """Return a submitted file's JSON, an object with a list of cells.

    If the file's metadata names a day, it is `slug`. Nothing else in the JSON is guaranteed. Raises BadSubmission.
    """
    if file.problem is not None:
        raise BadSubmission(file.problem)
    raw = file.content
    if raw.count(b"[") + raw.count(b"{") > MAX_LISTS:
        raise BadSubmission(f"{file.name} has more parts than any notebook: clear its outputs and hand it in again")
    try:
        notebook = json.loads(raw.decode("utf-8-sig"))  # some editors put a mark in front
        if json_may_hold_a_half_pair(raw):
            notebook = all_encodable(notebook)
    except UnicodeDecodeError:
        raise BadSubmission(f"{file.name} is not UTF-8 text: it is damaged; hand in the notebook as Jupyter saved it") from None
    except (ValueError, RecursionError) as error:
        place = f" (line {error.lineno})" if isinstance(error, json.JSONDecodeError) else ""
        raise BadSubmission(f"{file.name} is not JSON{place}: it is cut off or damaged; save the notebook and hand it in again") from None
    if isinstance(notebook, dict) and isinstance(notebook.get("worksheets"), list):
        raise BadSubmission(f"{file.name} is in the notebook format of 2014 (nbformat 3): open it in Jupyter, save it and hand it in again")
    if not isinstance(notebook, dict) or not isinstance(notebook.get("cells"), list):
        raise BadSubmission(f"{file.name} is JSON but no notebook (no list of cells): hand in the .ipynb file")
    other = _dict(_dict(notebook.get("metadata")).get("course")).get("slug")
    if isinstance(other, str) and other != slug:
        shown = other[:60] if other.isidentifier() else ascii(other[:60])
        raise BadSubmission(f"{file.name} is the notebook of {shown}, not of {slug}: hand in the one of {slug}")
    if len(notebook["cells"]) > MAX_CELLS:
        raise BadSubmission(f"{file.name} has {len(notebook['cells']):,} cells, more than {MAX_CELLS:,}: delete the surplus")
    return notebook


def cell_source(cell: dict[str, Any]) -> str | None:
    """Return a cell's text, from a string or a list of lines; None if it is neither."""
    source = cell.get("source", "")
    if isinstance(source, list):
        source = "".join(part for part in source if isinstance(part, str))
    return source if isinstance(source, str) else None


def _code_cells(notebook: dict[str, Any]) -> list[tuple[str, str, str]]:
    found = []
    for cell in notebook["cells"]:
        cell = _dict(cell)
        source = cell_source(cell)
        if cell.get("cell_type") != "code" or source is None:
            continue
        role = _dict(_dict(cell.get("metadata")).get("course")).get("role")
        found.append((str(cell.get("id", "")), str(role), source))
    return found


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
