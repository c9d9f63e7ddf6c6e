"""Tables for other systems: a CSV of everything, Canvas's gradebook import, Moodle's grading worksheet."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...grading.records import Record
from ...lessons import Day
from ..policy.roster import Person
from ..policy.weights import Weights
from ..results import ClassResults, Result, lost

FORMULA = ("=", "+", "-", "@", "\t", "\r")


def written(rows: Iterable[Sequence[Any]]) -> bytes:
    """Return a CSV in UTF-8, as spreadsheets read it."""
    table = io.StringIO()
    csv.writer(table, lineterminator="\r\n").writerows(rows)
    return table.getvalue().encode("utf-8")


def harmless(text: str) -> str:
    """Return a student's text in a form that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(FORMULA) else text


def number(points: float | None) -> str:
    """Return points with up to four decimals, as stored, so that the sum of a table's numbers is exact."""
    return "" if points is None else f"{points:.4f}".rstrip("0").rstrip(".")


def everything(results: ClassResults) -> bytes:
    """Return a CSV with one row for each student and exercise.

    points: the points that count; automatic: the points from the checks; status: of this exercise.
    late_deduction and day_points belong to the whole day and repeat in all of its rows.
    day_points is the sum of points minus late_deduction.
    """
    head = ("day", "student", "name", "email", "exercise", "points", "max_points", "automatic", "corrected_by_hand", "checks_passed",
            "checks", "failed_checks", "status", "late", "seconds", "isolation", "seed", "submission_status", "late_deduction",
            "day_points")  # fmt: skip
    rows: list[Sequence[Any]] = [head]
    for result in results.results:
        record, graded = result.record, result.points is not None
        for exercise in result.exercises:
            verdicts = [v for v in record.exercise(exercise.exercise) if v.outcome != "skipped"]
            failed = [v for v in verdicts if lost(v)]
            rows.append((
                record.slug, harmless(record.student), harmless(result.person.name), harmless(result.person.email), exercise.exercise,
                number(exercise.points) if graded else "", number(exercise.max_points), number(exercise.automatic) if graded else "",
                "yes" if exercise.by_hand else "", len(verdicts) - len(failed), len(verdicts), " ".join(v.check for v in failed),
                _status(replace(record, verdicts=verdicts, scores=[s for s in record.scores if s.exercise == exercise.exercise])),
                result.late, f"{record.seconds:.2f}", record.isolation, record.seed, _status(record),
                number(result.penalty) if graded else "", number(result.points),
            ))  # fmt: skip
    return written(rows)


def gradebook(results: ClassResults) -> bytes:
    """Return a CSV with one row for each student and one column for each day: the points that count minus lateness, and their sum.

    The second row has the maximum points. An ungraded day is empty, and is left out of the student's sum and its maximum. late_deduction
    is what lateness has cost on all days; the sum is without it. A class with weights also has a percentage and the number of days that
    count in it, see `policy/weights.py`.
    """
    weights = results.weights
    most = {day: max(r.max_points for r in results.by_day[day]) for day in results.days}
    rows: list[Sequence[Any]] = [
        (
            "student", "name", "email", *(day.slug for day in results.days), "total", "of", "late_deduction",
            *(("percent", "days_counted") if weights else ()),
        ),
        (
            "(most)", "", "", *(number(most[day]) for day in results.days), *2 * [number(sum(most.values()))], "",
            *(("100", "") if weights else ()),
        ),
    ]  # fmt: skip
    there = dict(_by_student(results))
    for student in dict.fromkeys((*results.students, *(person.id for person in results.people))):
        of_day = there.get(student, {})
        person = next((result.person for result in of_day.values()), None) or next(p for p in results.people if p.id == student)
        points = {day: of_day[day.slug].points for day in results.days if day.slug in of_day}
        had = {day: value for day, value in points.items() if value is not None}
        rows.append((
            harmless(student), harmless(person.name), harmless(person.email), *(number(points.get(day)) for day in results.days),
            number(sum(had.values())) if had else "", number(sum(most[day] for day in had)),
            number(sum(of_day[day.slug].penalty for day in had)) if had else "",
            *(_percentage(weights, results, points, most) if weights else ()),
        ))  # fmt: skip
    return written(rows)


def _percentage(weights: Weights, results: ClassResults, points: Mapping[Day, float | None], most: Mapping[Day, float]) -> tuple[str, str]:
    """Return a student's percentage and the number of days that count, as text.

    points: {day: points} of the days that were handed in, None for an ungraded day.
    """
    shares = {day.slug: value / most[day] for day, value in points.items() if value is not None and most[day]}
    if weights.missing_counts:
        shares |= {day.slug: 0.0 for day in results.days if day not in points and day.slug in results.ended}
    percent, days = weights.percentage(shares)
    return number(percent), str(days)


def _status(record: Record) -> str:
    return "needs a person" if record.needs_person else record.status


def canvas(results: ClassResults, assignments: Mapping[str, str]) -> tuple[bytes, list[str]]:
    """Return Canvas's gradebook import, and the students that Canvas could not identify.

    The CSV has one row a student, one column a day.
    assignments: {slug: Canvas's assignment id}; a day without an id becomes a new assignment in Canvas. Canvas identifies a student by
    ID, SIS User ID or SIS Login ID. An empty cell changes nothing in Canvas.
    """
    titles = [column(day, assignments.get(day.slug)) for day in results.days]
    rows: list[Sequence[Any]] = [("Student", "ID", "SIS User ID", "SIS Login ID", "Section", *titles)]
    most = {day: max(r.max_points for r in results.by_day[day]) for day in results.days}
    rows.append(("    Points Possible", "", "", "", "", *(number(most[day]) for day in results.days)))
    unknown = []
    for student, by_slug in _by_student(results):
        person = next(iter(by_slug.values())).person
        if not _canvas_knows(person):
            unknown.append(student)
            continue
        points = (number(by_slug[day.slug].points) if day.slug in by_slug else "" for day in results.days)
        rows.append(_canvas_row(person, points))
    # Students who handed in nothing: their cells stay as they are in Canvas, and the instructor sees that nobody was forgotten.
    handed_in = set(results.students)
    nothing = [person for person in results.people if person.id not in handed_in and _canvas_knows(person)]
    rows += [_canvas_row(person, [""] * len(titles)) for person in nothing]
    return written(rows), unknown


def _canvas_knows(person: Person) -> bool:
    return bool(person.lms_id or person.sis_id or person.login)


def _canvas_row(person: Person, points: Iterable[str]) -> Sequence[Any]:
    texts = (person.name or person.id, person.lms_id, person.sis_id, person.login, person.section)
    return *(harmless(text) for text in texts), *points


def column(day: Day, assignment: str | None) -> str:
    """Return `Day 05 Samplers (12345)`, as Canvas names its columns."""
    title = f"Day {day.number:02d} {day.title}"
    return f"{title} ({assignment})" if assignment else title


def moodle(results: ClassResults, day: Day) -> tuple[bytes, list[str]]:
    """Return Moodle's grading worksheet of one assignment, and the students that Moodle could not identify.

    Identifier is Moodle's `Participant 77`. If a roster gives only e-mail addresses, the gradebook's own CSV import can match students
    by that column. An empty grade changes nothing in Moodle.
    """
    head = ("Identifier", "Full name", "Email address", "Grade", "Maximum Grade", "Last modified (grade)", "Feedback comments")
    rows: list[Sequence[Any]] = [head]
    unknown = []
    for result in results.by_day[day]:
        person = result.person
        if not (person.lms_id or person.email):
            unknown.append(result.record.student)
            continue
        identifier = f"Participant {person.lms_id}" if person.lms_id else ""
        rows.append((
            harmless(identifier), harmless(person.name), harmless(person.email), number(result.points), number(result.max_points), "-",
            comment(result),
        ))  # fmt: skip
    return written(rows), unknown


def comment(result: Result) -> str:
    """Return the comment for the student beside the grade: the points of each exercise, but no checks."""
    if result.points is None:
        return ""
    parts = [f"{e.exercise} {number(e.points)} of {number(e.max_points)}" for e in result.exercises]
    if result.record.problem is not None:
        parts.append(f"this file could not be graded: {result.record.problem}")
    if result.penalty:
        parts.append(f"late: minus {number(result.penalty)} points")
    return harmless("; ".join(parts))


def _by_student(results: ClassResults) -> list[tuple[str, dict[str, Result]]]:
    return [(student, {r.record.slug: r for r in results.results if r.record.student == student}) for student in results.students]
