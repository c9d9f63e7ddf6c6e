"""What a class has: each record with the gradebook's word beside it, so that a grade corrected by hand counts everywhere."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import CourseError
from ..grading.records import Record, read_record
from ..lessons import CAPSTONE, Day
from ..verdicts import Verdict
from .collecting import Entry, Notes
from .deadlines import Lateness, due_dates, lateness
from .roster import Person, Roster

if TYPE_CHECKING:
    from ..nbgrader_bridge.bulk import ClassFolder

NOT_A_LOSS = ("pass", "skipped")


def lost(verdict: Verdict) -> bool:
    """Whether a check cost points."""
    return verdict.outcome not in NOT_A_LOSS


@dataclass(frozen=True)
class ExerciseResult:
    """points: what counts; automatic: what the checks gave."""

    exercise: str
    points: float
    automatic: float
    max_points: float

    @property
    def by_hand(self) -> bool:
        return abs(self.points - self.automatic) > 1e-6


@dataclass(frozen=True)
class Result:
    """One student's one day. penalty: what nbgrader takes off for lateness."""

    record: Record
    person: Person
    exercises: tuple[ExerciseResult, ...]
    penalty: float = 0.0
    entry: Entry | None = None
    lateness: Lateness | None = None

    @property
    def points(self) -> float | None:
        """None where the submission could not be graded: that is no zero."""
        if self.record.infrastructure is not None:
            return None
        return round(max(sum(e.points for e in self.exercises) - self.penalty, 0.0), 4)

    @property
    def max_points(self) -> float:
        return round(sum(e.max_points for e in self.exercises), 4)

    @property
    def late(self) -> str:
        return self.lateness.text if self.lateness else ""


@dataclass(frozen=True)
class ClassResults:
    """All results of a class, by day, then by student. damaged: a line for each record that cannot be read."""

    days: tuple[Day, ...]
    results: tuple[Result, ...]
    damaged: tuple[str, ...] = ()

    @cached_property
    def by_day(self) -> dict[Day, list[Result]]:
        return {day: [r for r in self.results if r.record.slug == day.slug] for day in self.days}

    @cached_property
    def students(self) -> list[str]:
        return sorted({r.record.student for r in self.results})


@dataclass(frozen=True)
class Booked:
    """What the gradebook has of a submission. scores: {exercise: points}; by_hand: those that a person gave or added to."""

    scores: dict[str, float]
    penalty: float
    by_hand: dict[str, float] = dataclasses.field(default_factory=dict)


def class_results(folder: ClassFolder, days: Sequence[Day], roster: Roster | None = None, *, capstone: bool = False) -> ClassResults:
    """Raises CourseError where nothing is graded. capstone: with the races, which belong to no day and stand in no gradebook."""
    results: list[Result] = []
    damaged: list[str] = []
    notes = Notes(folder.root).entries
    due = due_dates(folder.root)
    books_of = {day.slug: booked(folder.db_url, day) for day in days}
    for slug in [*books_of, *([CAPSTONE] if capstone else [])]:
        books = books_of.get(slug, {})
        for path in sorted((folder.records / slug).glob("*.json")):
            try:
                record = read_record(path)
            except CourseError as error:
                damaged.append(str(error))
                continue
            results.append(_result(record, books.get(record.student), notes.get((record.student, slug)), due.get(slug), roster))
    if not results and not damaged:
        raise CourseError(f"nothing graded under {folder.records}: run `autograder grade` first")
    shown = {r.record.slug for r in results}
    return ClassResults(tuple(day for day in days if day.slug in shown), tuple(results), tuple(damaged))


def _result(
    record: Record, book: Booked | None, entry: Entry | None, due: datetime.datetime | None, roster: Roster | None
) -> Result:
    scores = book.scores if book is not None else {}
    exercises = tuple(
        ExerciseResult(s.exercise, scores.get(s.exercise, s.points), s.points, s.max_points) for s in record.scores
    )
    person = roster.person(record.student) if roster is not None else Person(record.student)
    if entry is not None and not person.lms_id:
        person = dataclasses.replace(person, lms_id=entry.lms_id, name=person.name or entry.lms_name)
    penalty = book.penalty if book is not None else 0.0
    return Result(record, person, exercises, penalty, entry, lateness(entry, due))


def booked(db_url: str, day: Day) -> dict[str, Booked]:
    """{student: what the gradebook has} of a day; empty where there is no gradebook, or not this day in it."""
    from nbgrader.api import Gradebook, MissingEntry
    from sqlalchemy.engine import make_url

    url = make_url(db_url)
    if url.get_backend_name() == "sqlite" and not Path(url.database or "").exists():
        return {}
    found: dict[str, Booked] = {}
    with Gradebook(db_url) as gradebook, contextlib.suppress(MissingEntry):
        for submission in gradebook.assignment_submissions(day.slug):
            grades = {grade.name.removeprefix("check_"): grade for notebook in submission.notebooks for grade in notebook.grades}
            scores = {
                name: float(grade.score) + float(grade.extra_credit or 0)
                for name, grade in grades.items() if grade.auto_score is not None or grade.manual_score is not None
            }  # fmt: skip
            touched = {name for name, grade in grades.items() if grade.manual_score is not None or grade.extra_credit}
            by_hand = {name: score for name, score in scores.items() if name in touched}
            found[submission.student.id] = Booked(scores, float(submission.late_submission_penalty or 0), by_hand)
    return found


def need_person(results: Iterable[Result]) -> list[Result]:
    return [r for r in results if r.record.needs_person]
