"""A notebook and its visible checks, as `autograder check` and pytest both use them."""

from __future__ import annotations

import os
import socket
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from ..base.course_table import earlier_sources, solution_source
from ..base.errors import CourseError
from ..base.verdicts import ERROR, Verdict, share
from ..checking.runner import Check, run_checks, run_timing, select
from ..grading.grade import explain_missing, our_cells
from ..lessons import Day, lesson
from ..sandbox.process.local import LocalStudent
from ..sandbox.process.remote_student import RemoteStudent
from ..sandbox.process.session import CellOutcome
from ..sandbox.submission import Cell, Submission, read_submission
from . import render, workspace
from .checking import as_in_grading

HAS_WORKERS = hasattr(os, "fork") and hasattr(socket, "AF_UNIX")
"""True on a system that can start workers: Linux and macOS can, Windows cannot."""


class Session:
    """A notebook whose cells have run in a worker, as in grading; on a system without workers, in this process.

    With path None the reference solutions run instead.
    """

    def __init__(self, day: Day, path: Path | None) -> None:
        """Start the worker. Raises BadSubmission, InfrastructureFault."""
        self.day, self.path = day, path
        if path is None:
            self.submission = Submission([Cell("reference", solution_source(day.topic))], {})
        else:
            exercises = [exercise.name for exercise in lesson(day).exercises]
            self.submission = read_submission(path, day.slug, our_cells(day), exercises)
        self.given: dict[str, Verdict] = {}
        """The verdict of each requested check, by its name."""
        self._untimed: dict[tuple[str, bool], list[Verdict]] = {}
        cells = [Cell("setup", lesson(day).setup), *self.submission.cells]
        self.student = RemoteStudent(day.topic, cells, earlier_sources(day.topic)) if HAS_WORKERS else in_this_process(cells)
        try:
            self.student.start()
        except BaseException:
            self.close()
            raise

    def verdicts(self, exercise: str) -> list[Verdict]:
        """Return the verdicts of an exercise's visible checks, in order."""
        return [self.verdict(check) for check in select(self.day.topic, exercise=exercise, hidden=False)]

    def verdict(self, check: Check) -> Verdict:
        """Return the verdict of one check.

        The first check of an exercise runs all its checks except timing checks: only their results together reveal a known mistake.
        """
        key = check.exercise, check.hidden
        if key not in self._untimed:
            others = select(self.day.topic, exercise=check.exercise, hidden=check.hidden, timing=False)
            with self._as_in_a_worker():
                self._untimed[key] = self._explained(run_checks(self.day.topic, others, self.student))
        verdicts = self._untimed[key]
        if check.timing:
            with self._as_in_a_worker():
                verdicts = self._explained(run_timing(self.day.topic, [check], self.student, verdicts))
        self.given[check.name] = next(v for v in verdicts if v.check == check.name)
        return self.given[check.name]

    def close(self) -> None:
        """End the worker. The next verdict starts a new one."""
        self.student.close()

    def _as_in_a_worker(self) -> Any:
        return as_in_grading() if isinstance(self.student, LocalStudent) else nullcontext()

    def _explained(self, verdicts: list[Verdict]) -> list[Verdict]:
        for verdict in verdicts:
            explain_missing(verdict, self.student, self.submission)
        return verdicts


def in_this_process(cells: list[Cell]) -> LocalStudent:
    """Run the cells in a namespace of this process. The outcomes of cells that failed are in `cell_outcomes`."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    student = LocalStudent(namespace)
    flags = annotations.compiler_flag if "from __future__ import annotations" in cells[0].source else 0  # IPython keeps it for all cells
    with as_in_grading():
        for cell in cells:
            try:
                exec(compile(cell.source, f"<cell {cell.name}>", "exec", flags, dont_inherit=True), namespace)
            except Exception as error:
                student.cell_outcomes[cell.name] = CellOutcome(ERROR, f"{type(error).__name__}: {error}")
    return student


class Sessions:
    """The notebooks of one run of pytest. Only one of them has a worker at a time."""

    def __init__(self) -> None:
        self._sessions: dict[tuple[str, Path | None], Session] = {}
        self._seen: dict[tuple[Session, str], dict[tuple[str, ...], str]] = {}

    def session(self, day: Day, path: Path | None) -> Session:
        """Return the session of a notebook. Raises CourseError, InfrastructureFault."""
        key = day.topic, path
        for other in self._sessions.keys() - {key}:
            self._sessions[other].close()
        if key not in self._sessions:
            if path is not None and not path.exists():
                raise CourseError(f"no notebook at {path}: name yours with --notebook")
            self._sessions[key] = Session(day, path)
        return self._sessions[key]

    def verdict(self, day: Day, path: Path | None, check: Check) -> tuple[Verdict, list[str]]:
        """Return a check's verdict and its report. A failure that an earlier check of the exercise shared is reported only once."""
        session = self.session(day, path)
        verdict = session.verdict(check)
        before = render.earlier_title(verdict, self._seen.setdefault((session, check.exercise), {}))
        return verdict, [f"the same as at “{before}”"] if before else render.text_detail(verdict)

    def finish(self) -> list[str]:
        """End the workers. Return a line for each exercise whose visible checks all ran, and record its state in the workspace."""
        lines = []
        for session in self._sessions.values():
            session.close()
            day, path = session.day, session.path
            for exercise in lesson(day).exercises if path is not None else ():
                checks = select(day.topic, exercise=exercise.name, hidden=False)
                if any(check.name not in session.given for check in checks):
                    continue
                verdicts = [session.given[check.name] for check in checks]
                points, passed = exercise.points * share(verdicts), not any(v.failed for v in verdicts)
                lines.append(render.summary(exercise.name, verdicts, points, exercise.points))
                if path is not None and path.resolve() == workspace.notebook_path(day).resolve():
                    workspace.note_standing(day.topic, exercise.name, round(points, 4), exercise.points, passed)
        return lines
