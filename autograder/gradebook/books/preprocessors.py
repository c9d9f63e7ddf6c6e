"""The course's steps among nbgrader's: correct its cells, write the record's verdicts into them, and give unreadable files no score."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

from nbconvert.exporters.exporter import ResourcesDict
from nbformat import NotebookNode, from_dict
from nbgrader.api import Gradebook
from nbgrader.preprocessors import NbGraderPreprocessor
from traitlets import Integer, Unicode

from ...base import own
from ...base.errors import InfrastructureFault
from ...grading import verdict_inputs
from ...grading.canaries import canaries
from ...grading.grade import Options
from ...grading.records import Record
from ...grading.run import drawn_seed, fresh_record
from ...grading.tasks import Task, check_student_id
from ...grading.timing_phase import grade_one
from ...lessons import find_day
from ...sandbox.process import forkserver_pool
from . import pages
from .cells import code_cell, markdown_cell
from .reading import release_notebook

Result = tuple[NotebookNode, ResourcesDict]


class NormalizeMetadata(NbGraderPreprocessor):
    """A step that corrects nbgrader's cells before its own steps read them.

    The gradebook determines the cells, their points and the text of locked cells. The submission only says which of its cells has which id.
    A deleted grade cell is restored. Of several copies only the last one counts, as in Python; the others become ordinary cells.
    An unknown id is dropped.
    """

    def preprocess(self, nb: NotebookNode, resources: ResourcesDict) -> Result:
        names = resources["nbgrader"]
        with Gradebook(names["db_url"]) as gradebook:
            known = known_cells(gradebook.find_notebook(names["notebook"], names["assignment"]))
        put_cells_right(nb, known, release_notebook(find_day(names["assignment"])))
        return nb, resources


def known_cells(notebook: Any) -> dict[str, Known]:
    """Return the cells of a day's notebook in the gradebook, by grade id."""
    points = {cell.name: cell.max_score for cell in notebook.grade_cells}
    solutions = {cell.name for cell in notebook.solution_cells}
    return {cell.name: Known(cell, points.get(cell.name), cell.name in solutions) for cell in notebook.source_cells}


def put_cells_right(nb: NotebookNode, known: dict[str, Known], release: NotebookNode) -> None:
    """Correct a notebook's cells, as NormalizeMetadata describes."""
    by_cell_id = {cell.id: name for cell in release.cells if (name := _grade_id(cell)) is not None and name in known}
    places: dict[str, int] = {}
    for index, cell in enumerate(nb.cells):
        name = _grade_id(cell)
        name = name if name in known else by_cell_id.get(cell.id)
        cell.metadata = NotebookNode()
        if name is not None:
            places[name] = index
    for name, index in places.items():
        known[name].put_right(nb.cells[index])
    _put_back(nb, known, list(by_cell_id.values()), places)


def _put_back(nb: NotebookNode, known: dict[str, Known], order: list[str], places: dict[str, int]) -> None:
    """Insert each missing grade cell after the nearest earlier cell of the release that is present."""
    missing: dict[int, list[NotebookNode]] = {}
    after = -1
    for name in order:
        if name in places:
            after = places[name]
        elif known[name].points is not None:
            missing.setdefault(after, []).append(known[name].fresh())
    for index in sorted(missing, reverse=True):
        nb.cells[index + 1 : index + 1] = missing[index]


class Known:
    """A cell in the gradebook. points: None for a cell that is not graded."""

    def __init__(self, cell: Any, points: float | None, is_solution: bool) -> None:
        self.name, self.cell_type, self.source = cell.name, cell.cell_type, cell.source
        self.locked, self.checksum = bool(cell.locked), cell.checksum
        self.points, self.is_solution = points, is_solution

    def metadata(self, note: str = "") -> dict[str, Any]:
        nbgrader: dict[str, Any] = {
            "schema_version": 3,
            "grade_id": self.name,
            "grade": self.points is not None,
            "solution": self.is_solution,
            "locked": self.locked,
            "task": False,
            "cell_type": self.cell_type,
            "checksum": self.checksum,
        }
        if self.points is not None:
            nbgrader["points"] = self.points
        return {"nbgrader": nbgrader, **({"course": {"note": note}} if note else {})}

    def put_right(self, cell: NotebookNode) -> None:
        """Give a submitted cell the type, metadata and locked source from the gradebook. A student's answer keeps its text."""
        note = ""
        if self.locked and (cell.source != self.source or cell.cell_type != self.cell_type):
            note = "This locked cell was changed; it is shown as it was released."
            cell.source = self.source
        if cell.cell_type != self.cell_type:
            cell.cell_type = self.cell_type
            cell.pop("attachments", None)
        if cell.cell_type == "code":
            cell.execution_count = None
            cell.outputs = []
        cell.metadata = from_dict(self.metadata(note))

    def fresh(self) -> NotebookNode:
        new = code_cell if self.cell_type == "code" else markdown_cell
        note = "This cell was missing; it has been restored."
        return new(self.source, metadata=self.metadata(note))


class WriteVerdicts(NbGraderPreprocessor):
    """A step that writes the record's verdicts into the outputs of the grade cells, in place of nbgrader's `Execute`.

    `autograder grade` writes records in bulk. Without a fresh record of this file, the step grades the file immediately, in a worker.
    """

    records = Unicode("records", help="The folder of records, from the course's root.").tag(config=True)
    seed = Integer(
        None, allow_none=True, help="The seed of the checks' random inputs for a submission without a record; None: draw one."
    ).tag(config=True)
    isolation = Unicode("", help="The name of an isolation level, to allow one below `landlock`.").tag(config=True)

    def preprocess(self, nb: NotebookNode, resources: ResourcesDict) -> Result:
        record = self.record(resources["nbgrader"]["student"], resources["nbgrader"]["assignment"])
        if record.infrastructure is not None:
            raise RuntimeError(f"not graded; look at it by hand: {record.infrastructure}")
        write_verdicts(nb, record, exercises_by_grade_id(release_notebook(find_day(record.slug))))
        return nb, resources

    def record(self, student: str, slug: str) -> Record:
        """Return the record of a submission. Raises CourseError for an invalid id, and if submissions cannot be run safely."""
        check_student_id(student)
        coursedir = self.parent.parent.coursedir
        own.use(own.folder_of(Path(coursedir.root)))
        folder = Path(coursedir.format_path(coursedir.submitted_directory, student, slug))
        task = Task(student, find_day(slug), folder / f"{slug}.ipynb")
        records = Path(coursedir.root) / self.records
        options = Options(seed=_drawn_seed() if self.seed is None else self.seed)
        found = fresh_record(records, task, options, any_seed=True)
        if found is not None:
            return found
        if self.isolation:
            forkserver_pool.want(self.isolation)
        try:
            forkserver_pool.require_safe()
            _canaries(task.day.slug, options.seed, verdict_inputs.of_day(task.day))
        except InfrastructureFault as fault:  # nbgrader catches exceptions only
            raise RuntimeError(f"not graded; look at it by hand: {fault}") from None
        return grade_one(task, options, records)


class LeaveUngraded(NbGraderPreprocessor):
    """A step that removes an unreadable file's points from the gradebook, so that the submission needs manual grading."""

    def preprocess(self, nb: NotebookNode, resources: ResourcesDict) -> Result:
        names = resources["nbgrader"]
        if nb.metadata.get("unreadable"):
            with Gradebook(names["db_url"]) as gradebook:
                for grade in gradebook.find_submission_notebook(names["notebook"], names["assignment"], names["student"]).grades:
                    grade.auto_score, grade.needs_manual_grade = None, True
                gradebook.db.commit()
        return nb, resources


@functools.cache
def _drawn_seed() -> int:
    """Return one seed for the whole run."""
    return drawn_seed()


@functools.cache
def _canaries(slug: str, seed: int, course: str) -> None:
    """Grade the canaries once per process, and again after a change to the course."""
    canaries(find_day(slug), Options(seed=seed))


def _grade_id(cell: NotebookNode) -> str | None:
    meta = cell.metadata.get("nbgrader")
    grade_id = meta.get("grade_id") if isinstance(meta, dict) else None
    return grade_id if isinstance(grade_id, str) else None


def exercises_by_grade_id(release: NotebookNode) -> dict[str, str]:
    """Return {grade id: exercise}, such as {"check_softmax": "softmax"}, from the release notebook."""
    found = {}
    for cell in release.cells:
        course = cell.metadata.get("course", {})
        if course.get("role") == "check":
            found[cell.metadata.nbgrader.grade_id] = course["exercise"]
    return found


def write_verdicts(nb: NotebookNode, record: Record, exercises: dict[str, str]) -> None:
    """Remove all outputs, and write the record's verdicts into the grade cells."""
    for cell in nb.cells:
        if cell.cell_type != "code":
            continue
        cell.outputs, cell.execution_count = [], None
        exercise = exercises.get(_grade_id(cell) or "")
        if cell.metadata.get("nbgrader", {}).get("grade") and exercise is not None:
            note = cell.metadata.get("course", {}).get("note", "")
            cell.outputs = pages.outputs(record, exercise, note)
    nb.cells.insert(0, markdown_cell(pages.head(record), "verdict"))
    if record.problem is not None:
        nb.metadata["unreadable"] = True
