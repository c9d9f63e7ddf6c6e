"""The results of a class: each record with the gradebook's scores, so that a grade corrected by hand counts everywhere."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..base.errors import CourseError, typed_line
from ..base.verdicts import Verdict
from ..grading.records import Record, read_record
from ..lessons import CAPSTONE, Day
from .lms.collecting import Entry, Notes
from .policy.deadlines import Lateness, due_dates, extensions, lateness, lateness_in_place
from .policy.late import Rule, late_rule
from .policy.roster import Person, Roster
from .policy.weights import Weights, class_weights

if TYPE_CHECKING:
    from .books.bulk import ClassFolder

NOT_A_LOSS = ("pass", "skipped")


def lost(verdict: Verdict) -> bool:
    """Return whether a check cost points."""
    return verdict.outcome not in NOT_A_LOSS


@dataclass(frozen=True)
class ExerciseResult:
    """An exercise's result. points: the number that counts; automatic: from the checks."""

    exercise: str
    points: float
    automatic: float
    max_points: float

    @property
    def by_hand(self) -> bool:
        return abs(self.points - self.automatic) > 1e-6


@dataclass(frozen=True)
class Result:
    """One student's results of one day. penalty: subtracted for lateness by the class's rule, or by nbgrader if the class has none.

    graded_by_hand: a person has given points in the gradebook.
    """

    record: Record
    person: Person
    exercises: tuple[ExerciseResult, ...]
    penalty: float = 0.0
    entry: Entry | None = None
    lateness: Lateness | None = None
    graded_by_hand: bool = False

    @property
    def points(self) -> float | None:
        """Return the points. They are None, not 0, if the submission could not be graded or read and no person has graded it."""
        if self.record.infrastructure is not None or (self.record.problem is not None and not self.graded_by_hand):
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
    """All results of a class, by day, then by student.

    damaged: a line for each record that cannot be read. left_out: a line for each folder of submissions that cannot be graded.
    """

    days: tuple[Day, ...]
    results: tuple[Result, ...]
    damaged: tuple[str, ...] = ()
    people: tuple[Person, ...] = ()
    """The people on the roster."""
    left_out: tuple[str, ...] = ()
    weights: Weights | None = None
    """The rule of a course's grade, if the class has one."""
    ended: frozenset[str] = frozenset()
    """The slugs of days whose due date has passed, or that have none."""

    def missing(self, day: Day) -> list[Person]:
        """Return the people on the roster without a record of that day."""
        there = {r.record.student for r in self.by_day[day]}
        return [person for person in self.people if person.id not in there]

    @cached_property
    def by_day(self) -> dict[Day, list[Result]]:
        return {day: [r for r in self.results if r.record.slug == day.slug] for day in self.days}

    @cached_property
    def students(self) -> list[str]:
        return sorted({r.record.student for r in self.results})


@dataclass(frozen=True)
class Booked:
    """The gradebook's scores of a submission. scores: {exercise: points}; by_hand: {exercise: points} that a person gave or added."""

    scores: dict[str, float]
    penalty: float
    by_hand: dict[str, float] = dataclasses.field(default_factory=dict)


def class_results(folder: ClassFolder, days: Sequence[Day], roster: Roster | None = None, *, capstone: bool = False) -> ClassResults:
    """Return the results of a class. Raises CourseError if nothing is graded.

    capstone: include the races of the capstone, which belong to no day and are in no gradebook.
    """
    results: list[Result] = []
    damaged: list[str] = []
    notes = Notes(folder.root).entries
    due, more, rule = due_dates(folder.root), extensions(folder.root), late_rule(folder.root)
    now = datetime.datetime.now(datetime.UTC)
    books_of = {day.slug: booked(folder.db_url, day) for day in days}
    for slug in [*books_of, *([CAPSTONE] if capstone else [])]:
        books = books_of.get(slug, {})
        for path in sorted((folder.records / slug).glob("*.json")):
            try:
                record = read_record(path)
            except CourseError as error:
                damaged.append(str(error))
                continue
            entry, key = notes.get((record.student, slug)), (record.student, slug)
            dates = due.get(slug), more.get(key)
            try:
                when = lateness(entry, *dates) if entry is not None else lateness_in_place(*dates, now)
                results.append(_result(record, books.get(record.student), entry, when, roster, rule))
            except Exception as error:  # no record is a reason to lose the pages of all
                damaged.append(f"{path}: a record without a result ({typed_line(error)}): delete it and grade again")
    if not results and not damaged:
        raise CourseError(f"nothing graded under {folder.records}: run `autograder grade` first")
    shown = {r.record.slug for r in results}
    people = tuple(roster.by_id.values()) if roster is not None else ()
    ended = frozenset(slug for slug in books_of if slug not in due or due[slug] < now)
    there = tuple(day for day in days if day.slug in shown)
    return ClassResults(there, tuple(results), tuple(damaged), people, weights=class_weights(folder.root), ended=ended)


def _result(
    record: Record, book: Booked | None, entry: Entry | None, when: Lateness | None, roster: Roster | None, rule: Rule | None
) -> Result:
    scores = book.scores if book is not None else {}
    exercises = tuple(ExerciseResult(s.exercise, scores.get(s.exercise, s.points), s.points, s.max_points) for s in record.scores)
    person = roster.person(record.student) if roster is not None else Person(record.student)
    if entry is not None and not person.lms_id:
        person = dataclasses.replace(person, lms_id=entry.lms_id, name=person.name or entry.lms_name)
    penalty = book.penalty if book is not None else 0.0
    if rule is not None:
        penalty = rule.penalty(sum(e.points for e in exercises), when)
    if record.problem is not None and not (book is not None and book.by_hand):
        penalty = 0.0  # of nothing
    return Result(record, person, exercises, penalty, entry, when, book is not None and bool(book.by_hand))


GRADES = """
    select submission.student_id, cell.name, grade.auto_score, grade.manual_score, grade.extra_credit
    from assignment
    join submitted_assignment submission on submission.assignment_id = assignment.id
    join submitted_notebook notebook on notebook.assignment_id = submission.id
    join grade on grade.notebook_id = notebook.id
    join base_cell cell on cell.id = grade.cell_id
    where assignment.name = :slug
"""
COMMENTS = """
    select submission.student_id, comment.cell_id, comment.auto_comment, comment.manual_comment
    from assignment
    join submitted_assignment submission on submission.assignment_id = assignment.id
    join submitted_notebook notebook on notebook.assignment_id = submission.id
    join comment on comment.notebook_id = notebook.id
    where assignment.name = :slug
"""
PENALTIES = """
    select submission.student_id, sum(notebook.late_submission_penalty)
    from assignment
    join submitted_assignment submission on submission.assignment_id = assignment.id
    join submitted_notebook notebook on notebook.assignment_id = submission.id
    where assignment.name = :slug
    group by submission.student_id
"""


def booked(db_url: str, day: Day) -> dict[str, Booked]:
    """Return {student: the gradebook's scores} of a day; empty if there is no gradebook or the gradebook does not have the day."""
    found = {student: Booked({}, float(penalty or 0)) for student, penalty in asked(db_url, PENALTIES, day)}
    for student, cell, automatic, by_hand, extra in asked(db_url, GRADES, day):
        book, exercise = found[student], cell.removeprefix("check_")
        score = automatic if by_hand is None else by_hand
        if score is not None:
            book.scores[exercise] = float(score) + float(extra or 0)
            if by_hand is not None or extra:
                book.by_hand[exercise] = book.scores[exercise]
    return found


def automatic_scores(db_url: str, day: Day) -> dict[str, dict[str, float | None]]:
    """Return {student: {exercise: automatic points}} of a day, from the gradebook."""
    found: dict[str, dict[str, float | None]] = {}
    for student, cell, automatic, _, _ in asked(db_url, GRADES, day):
        found.setdefault(student, {})[cell.removeprefix("check_")] = automatic
    return found


def all_booked(db_url: str, day: Day) -> list[list[tuple[Any, ...]]]:
    """Return everything that pages and exports take from the gradebook: scores, comments and penalties."""
    return [sorted(asked(db_url, question, day), key=repr) for question in (GRADES, COMMENTS, PENALTIES)]


def asked(db_url: str, question: str, day: Day) -> list[tuple[Any, ...]]:
    """Return the rows of an SQL query, without importing nbgrader, which would take longer than everything else in a report."""
    from sqlalchemy import create_engine, inspect, text
    from sqlalchemy.engine import make_url

    url = make_url(db_url)
    if url.get_backend_name() == "sqlite" and not Path(url.database or "").exists():
        return []
    engine = create_engine(url)
    with engine.connect() as connection:
        there = inspect(connection).has_table("grade")
        rows = [tuple(row) for row in connection.execute(text(question), {"slug": day.slug})] if there else []
    engine.dispose()
    return rows


def need_person(results: Iterable[Result]) -> list[Result]:
    return [r for r in results if r.record.needs_person]
