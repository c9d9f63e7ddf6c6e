"""Submitted files as notebooks that nbgrader can work with, whatever is in the file.

Only text is copied: each cell's type and source, and which of our cells it claims to be. Outputs, attachments, metadata
and a kernel of the student's own are dropped. A text cell that could make a browser run something is shown as it was
typed, because an instructor opens these pages with rights that a student does not have.

An unreadable file becomes a short placeholder notebook, so that the student gets no score and a page with the reason, and
the others get their grades. The file itself is never changed.
"""

from __future__ import annotations

import copy
import datetime
import glob
import html
import os
import re
from pathlib import Path
from typing import Any

import nbformat
from nbconvert.exporters import NotebookExporter
from nbconvert.filters.markdown_mistune import markdown2html_mistune
from nbformat import NotebookNode
from nbgrader.converters import Autograde, NbGraderException

from ...base.errors import CourseError
from ...grading.tasks import LINK, why_left_out
from ...lessons import Day, find_day, release_notebook_path
from ...lessons.notebooks import copy_figures
from ...sandbox.submission import BadSubmission, cell_source, load_notebook
from ..policy.class_tables import book_class
from ..policy.timestamps import submitted_at
from .cells import code_cell, markdown_cell, notebook
from .gradebook import check_gradebook, enter_day
from .sanitising import is_plain

CELL_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
RISKY = re.compile(r"[<&]")
SECRET, MAX_SECRET = "submission_secret.txt", 512
MAX_CELL_CHARACTERS = 50_000
MAX_MARKDOWN_CHARACTERS = 5_000
MAX_MARKDOWN_IN_ALL = 50_000
"""The limit for a student's own text: a Markdown renderer takes four times as long for some texts of twice the length."""
MAX_SHOWN_CHARACTERS = 1_000_000


class SubmissionExporter(NotebookExporter):
    """The exporter with which nbgrader's `autograde` reads notebooks."""

    def __init__(self, config: Any = None, **options: Any) -> None:
        super().__init__(config=config, **options)
        if isinstance(self.parent, Autograde):  # nbgrader makes one exporter a run, before the first submission
            prepare(self.parent)

    def from_filename(self, filename: str, resources: Any = None, **options: Any) -> Any:
        if not getattr(self.parent, "_sanitizing", True):  # our own result, on its way to be graded
            return super().from_filename(filename, resources, **options)
        path = Path(filename)
        name = resources["nbgrader"]["assignment"]
        resources["metadata"] = {"name": path.stem, "path": str(path.parent), "modified_date": _date(path)}
        return self.from_notebook_node(submitted_notebook(path, find_day(name)), resources, **options)


def prepare(autograde: Autograde) -> None:
    """Enter the day in the gradebook before the first submission, and let a folder without a notebook count as a submission.

    A folder whose name is not a student id is left out, with one message.
    """
    coursedir = autograde.coursedir
    keep_extras_out(autograde)
    try:
        day = find_day(coursedir.assignment_id)
        if day.slug != coursedir.assignment_id:
            raise CourseError(f"{coursedir.assignment_id} is not the name of an assignment: use {day.slug}")
        check_gradebook(coursedir.db_url)
        enter_day(day, coursedir.db_url)
        book_class(Path(coursedir.root), coursedir.db_url, [day])
    except CourseError as error:
        autograde.log.error(str(error))
        raise NbGraderException(str(error)) from None
    if hasattr(autograde, "students"):  # a run of ours, which has its list
        return
    if coursedir.notebook_id == "*":
        for folder in glob.glob(autograde._format_source(coursedir.assignment_id, coursedir.student_id)):
            autograde.assignments[folder] = [os.path.join(folder, f"{day.slug}.ipynb")]
    form = autograde._format_source("(?P<assignment>.*)", "(?P<student>.*)", escape=True)
    for folder in list(autograde.assignments):
        student = re.match(form, folder)
        if student is None:
            continue
        path = Path(folder)
        reason = LINK if path.is_symlink() else why_left_out(path.parent, {})
        if reason is not None:
            autograde.log.error("not graded: %a: %s", student["student"], reason)
            del autograde.assignments[folder]


def keep_extras_out(autograde: Autograde) -> None:
    """Make nbgrader copy no submitted files besides the notebook, because an HTML page would run with an instructor's rights.

    nbgrader would copy the submission's files, then those of the source. Now only the day's figures and nbgrader's marks are copied.
    """
    stock = autograde.init_assignment

    def init_assignment(assignment_id: str, student_id: str) -> None:
        before = autograde.coursedir.ignore
        autograde.coursedir.ignore = [*before, "*", ".*"]
        try:
            stock(assignment_id, student_id)
        finally:
            autograde.coursedir.ignore = before
        target = Path(autograde._format_dest(assignment_id, student_id))
        put_beside(find_day(assignment_id), Path(autograde._format_source(assignment_id, student_id)), target)

    autograde.init_assignment = init_assignment


def put_beside(day: Day, source: Path, target: Path) -> None:
    """Copy the day's figures and nbgrader's marks on the submission to a graded notebook's folder. The figures are read-only.

    The figures come from the course, because a checkout has build/ only after `autograder release`.
    """
    target.mkdir(parents=True, exist_ok=True)
    copy_figures(day, target)
    for figure in (target / "figures").rglob("*"):
        if figure.is_file():
            figure.chmod(0o444)
    copy_marks(source, target)


def release_notebook(day: Day) -> NotebookNode:
    path = release_notebook_path(day)
    try:
        return nbformat.read(path, as_version=4)
    except FileNotFoundError:
        raise CourseError(f"{path} is missing: run `autograder release {day.number}`") from None


def submitted_notebook(path: Path, day: Day, release: NotebookNode | None = None) -> NotebookNode:
    """Return the notebook in a submitted file, or a placeholder if the file contains none.

    release: the day's release notebook, if it has been read.
    """
    release = release_notebook(day) if release is None else release
    try:
        raw = load_notebook(path, day.slug)
    except BadSubmission:
        cells = [copy.deepcopy(cell) for cell in release.cells if cell.metadata.get("course", {}).get("role") == "check"]
    else:
        cells = _clean_cells(raw["cells"], {cell.source for cell in release.cells if cell.cell_type == "markdown"})
    return notebook(cells, copy.deepcopy(release.metadata))


def _clean_cells(raw: list[Any], our_texts: set[str]) -> list[NotebookNode]:
    """Return the cells with only their text and the grade id that they claim.

    our_texts: the sources of our own text cells, which may contain HTML.
    """
    cells: list[NotebookNode] = []
    ids = {"verdict"}  # the cell that we put at the top
    budget, markdown = MAX_SHOWN_CHARACTERS, MAX_MARKDOWN_IN_ALL
    for number, cell in enumerate(raw, start=1):
        source = cell_source(cell) if isinstance(cell, dict) else None
        if source is None:
            continue
        text, cell_id = _shortened(source, budget), _unused_id(cell.get("id"), number, ids)
        if cell.get("cell_type") == "code":
            clean = code_cell(text, cell_id, _claims(cell))
        else:
            plain = source in our_texts or (len(source) <= markdown and may_be_markdown(source))
            markdown -= len(source) if plain and source not in our_texts else 0
            clean = markdown_cell(text if plain else _as_text(text), cell_id, _claims(cell))
        budget -= min(len(source), MAX_CELL_CHARACTERS)
        cells.append(clean)
    return cells


def may_be_markdown(source: str) -> bool:
    """Return whether a student's text cell may be rendered as Markdown: it has no HTML, and nothing that a renderer could make active."""
    if len(source) > MAX_MARKDOWN_CHARACTERS or RISKY.search(source):
        return False
    try:
        page = markdown2html_mistune(source)
    except Exception:  # a renderer of somebody else's: a pasted picture without its attachment, and more that nobody has met yet
        return False
    return is_plain(source, page)


def _as_text(source: str) -> str:
    """Return HTML that shows the source as typed. Markdown changes nothing before the closing tag."""
    shown = html.escape(source).replace("$", "&#36;").replace("\\", "&#92;")
    return f"<pre>\n{shown}\n</pre>" if source.strip() else ""


def _shortened(source: str, budget: int) -> str:
    limit = min(MAX_CELL_CHARACTERS, max(budget, 200))
    if len(source) <= limit:
        return source
    return source[:limit] + f"\n# ... shortened here: the cell has {len(source):,} characters"


def _unused_id(wanted: Any, number: int, used: set[str]) -> str:
    found = wanted if isinstance(wanted, str) and CELL_ID.fullmatch(wanted) else f"submitted-{number}"
    while found in used:
        found = f"{found[:50]}-{number}"
        number += 1
    used.add(found)
    return found


def _claims(cell: dict[str, Any]) -> dict[str, Any]:
    """Return metadata with the grade id that a cell claims. NormalizeMetadata checks the claim."""
    metadata = cell.get("metadata")
    nbgrader = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    grade_id = nbgrader.get("grade_id") if isinstance(nbgrader, dict) else None
    return {"nbgrader": {"grade_id": grade_id}} if isinstance(grade_id, str) else {}


def _date(path: Path) -> str:
    try:
        return datetime.datetime.fromtimestamp(path.stat().st_mtime, tz=datetime.UTC).date().isoformat()
    except (OSError, ValueError, OverflowError):  # no file, or a time that no calendar has
        return ""


def copy_marks(source: Path, target: Path) -> None:
    """Copy nbgrader's valid marks beside the notebook into the graded folder.

    nbgrader needs the timestamp to see whether a newer file has come. `release_feedback` needs the submission's secret to find the name of
    the student's page.
    """
    if submitted_at(source) is not None:
        _put_mark(target / "timestamp.txt", (source / "timestamp.txt").read_bytes())
    if (secret := read_secret(source)) is not None:
        _put_mark(target / SECRET, secret)


def read_secret(folder: Path) -> bytes | None:
    """Return the submission's secret, hexadecimal digits that nbgrader wrote; None if the file is missing or contains anything else."""
    path = folder / SECRET
    if path.is_symlink() or not path.is_file():
        return None
    with path.open("rb") as file:
        found = file.read(MAX_SECRET + 1)
    return found if re.fullmatch(rb"[0-9a-f]{1,%d}" % MAX_SECRET, found) else None


def _put_mark(path: Path, content: bytes) -> None:
    path.unlink(missing_ok=True)
    path.write_bytes(content)
    path.chmod(0o444)
