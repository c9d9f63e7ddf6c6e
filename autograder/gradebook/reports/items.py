"""Item analysis of a class: for each check its success rate, its discrimination between stronger and weaker students, and its failures.

Working times are not reported: no submission contains them, and a time that a notebook recorded could be forged by its owner.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import StatisticsError, correlation

from ...base.verdicts import INCONCLUSIVE, INFRASTRUCTURE, NO_CELL, NOT_RUN, NOT_WRITTEN, SKIPPED, Verdict, only_stubs
from ..lms.tables import harmless, written
from ..results import ClassResults, Result

MIN_TRIED, MIN_SIDE = 20, 3
"""The fewest tries, and the fewest on either side: below them a correlation is about single persons."""
UNJUDGED = (SKIPPED, INCONCLUSIVE, INFRASTRUCTURE)
KNOWN_MISTAKE = "Your output matches a known mistake: "
"""The beginning of a verdict's cause if the answer is a mistake that the course knows (`mistakes.name_known_mistakes`)."""


@dataclass(frozen=True)
class ItemLine:
    """The results of one check in a class. tried: the number of the `read` submissions whose answer could be judged.

    not_begun, no_cell, not_run: the numbers of the other submissions, by the reason why they have no answer.
    discrimination: in [-1, 1]; None if it would be meaningless. failed_by: the ids of students.
    """

    check: str
    exercise: str
    title: str
    hidden: bool
    read: int
    not_begun: int
    no_cell: int
    not_run: int
    tried: int
    discrimination: float | None
    failed_by: tuple[str, ...]

    @property
    def passed(self) -> int:
        return self.tried - len(self.failed_by)

    @property
    def share(self) -> float | None:
        """Return the share of passes among all tries."""
        return self.passed / self.tried if self.tried else None

    @property
    def by_chance(self) -> float:
        """Return two standard errors of a zero correlation: a value within this distance of 0 may be chance."""
        return 2 / math.sqrt(self.tried - 1) if self.tried > 1 else math.inf

    @property
    def words(self) -> str:
        """Return the discrimination in words, or the reason why there is none."""
        if self.discrimination is None:
            if self.tried < MIN_TRIED:
                return "too few"
            if not self.failed_by or not self.passed:
                return "all pass" if self.passed else "nobody passes"
            return "too few fail" if len(self.failed_by) < MIN_SIDE else "too few pass" if self.passed < MIN_SIDE else "all else is equal"
        if abs(self.discrimination) <= self.by_chance:
            return "may be chance"
        return "" if self.discrimination > 0 else "look at this check: students who fail it score higher elsewhere"


@dataclass(frozen=True)
class MistakeLine:
    """A mistake that the course knows, and the students whose answers show it."""

    exercise: str
    mistake: str
    students: tuple[str, ...]


def why_untried(verdicts: Sequence[Verdict]) -> str:
    """Return the reason why an exercise has no answer to judge: NOT_WRITTEN, NO_CELL or NOT_RUN; "" if it has one.

    A check may catch an exception and report it in its own words, so one verdict that gives the reason is enough if no check passes.
    """
    if not verdicts or only_stubs(verdicts[0].exercise, list(verdicts)):
        return NOT_WRITTEN
    if any(v.passed for v in verdicts):
        return ""
    if any((v.cause or "").lower().startswith(NO_CELL) for v in verdicts):
        return NO_CELL
    if any(v.message.startswith(NOT_RUN) for v in verdicts):
        return NOT_RUN
    undefined = f"NameError: name {verdicts[0].exercise!r} is not defined"  # its cell is there and was emptied
    return NOT_WRITTEN if any(undefined in v.message for v in verdicts) else ""


def item_lines(read: Sequence[Result]) -> list[ItemLine]:
    """Return a line for each check, in the order of the records. read: graded submissions that could be read."""
    tries: dict[str, list[tuple[Result, Verdict]]] = {}
    reasons: dict[str, Counter[str]] = {}
    for result in read:
        for exercise in result.exercises:
            verdicts = result.record.exercise(exercise.exercise)
            reason = why_untried(verdicts)
            reasons.setdefault(exercise.exercise, Counter())[reason] += 1
            for verdict in verdicts:
                tried = tries.setdefault(verdict.check, [])
                if not reason and verdict.outcome not in UNJUDGED:
                    tried.append((result, verdict))
    known = {v.check: v for result in read for v in result.record.verdicts}
    lines = []
    for name, pairs in tries.items():
        check, why = known[name], reasons[known[name].exercise]
        lines.append(ItemLine(
            name, check.exercise, check.title, check.hidden, len(read), why[NOT_WRITTEN], why[NO_CELL], why[NOT_RUN],
            len(pairs), discrimination(pairs), tuple(sorted(result.record.student for result, v in pairs if not v.passed)),
        ))  # fmt: skip
    return lines


def discrimination(pairs: Sequence[tuple[Result, Verdict]]) -> float | None:
    """Return the point-biserial correlation between passing a check and the points of all other checks of the day.

    pairs: results with their verdicts. Return None with fewer than MIN_TRIED tries, with fewer than MIN_SIDE passes or failures, or if all
    students have the same points elsewhere. The check is left out of the total, because it would correlate with itself
    (Crocker and Algina 1986).
    """
    passed = [float(verdict.passed) for _, verdict in pairs]
    if len(pairs) < MIN_TRIED or not MIN_SIDE <= sum(passed) <= len(pairs) - MIN_SIDE:
        return None
    try:
        return correlation(passed, [rest(result, verdict) for result, verdict in pairs])
    except StatisticsError:  # one side does not vary
        return None


def rest(result: Result, verdict: Verdict) -> float:
    """Return the points of all other checks of a day, rounded, so that the order of the sum does not matter."""
    exercise = next(e for e in result.exercises if e.exercise == verdict.exercise)
    weights = sum(v.weight for v in result.record.exercise(verdict.exercise) if v.outcome != SKIPPED)
    own = exercise.max_points * verdict.weight / weights if verdict.passed and weights else 0.0
    return round(sum(e.automatic for e in result.exercises) - own, 3)


def mistake_lines(read: Sequence[Result]) -> list[MistakeLine]:
    """Return the known mistakes of a class, exercise by exercise, the most common first."""
    found: dict[tuple[str, str], list[str]] = {}
    for result in read:
        for v in result.record.verdicts:
            if v.cause and v.cause.startswith(KNOWN_MISTAKE):
                found.setdefault((v.exercise, v.cause.removeprefix(KNOWN_MISTAKE)), []).append(result.record.student)
    order = list(dict.fromkeys(e.exercise for result in read for e in result.exercises))
    lines = [MistakeLine(exercise, mistake, tuple(sorted(students))) for (exercise, mistake), students in found.items()]
    return sorted(lines, key=lambda line: (order.index(line.exercise), -len(line.students), line.mistake))


def readable(results: Sequence[Result]) -> list[Result]:
    """Return the submissions that were graded and could be read."""
    return [r for r in results if r.points is not None and r.record.problem is None]


def items_csv(results: ClassResults) -> bytes:
    """Return a row for each check of each day."""
    rows: list[Sequence[object]] = [
        ("day", "exercise", "check", "title", "hidden", "submissions", "not_begun", "cell_missing", "cell_not_run",
         "tried", "passed", "share", "discrimination", "note", "failed_by")
    ]  # fmt: skip
    for day in results.days:
        for line in item_lines(readable(results.by_day[day])):
            numbers = ("" if n is None else f"{n:.3f}" for n in (line.share, line.discrimination))
            rows.append((
                day.slug, line.exercise, line.check, line.title, "yes" if line.hidden else "",
                line.read, line.not_begun, line.no_cell, line.not_run, line.tried, line.passed,
                *numbers, line.words, harmless(" ".join(line.failed_by)),
            ))  # fmt: skip
    return written(rows)


def mistakes_csv(results: ClassResults) -> bytes:
    """Return a row for each known mistake that somebody made."""
    rows: list[Sequence[object]] = [("day", "exercise", "mistake", "how_many", "students")]
    for day in results.days:
        for line in mistake_lines(readable(results.by_day[day])):
            rows.append((day.slug, line.exercise, harmless(line.mistake), len(line.students), harmless(" ".join(line.students))))
    return written(rows)
