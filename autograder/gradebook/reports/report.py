"""A page for a class: everybody's scores, the checks that fail and why, and cases for a person. One file that needs no network."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean, median

from ... import __version__
from ...base.verdicts import NO_CELL, NOT_RUN, NOT_WRITTEN, Verdict
from ...base.wording import counted
from ...lessons import Day
from ...notebook.render import WORDS
from ...sandbox.protocol.text import cell_title
from ..lms.tables import harmless, written
from ..results import ClassResults, Result, lost, need_person
from .items import MIN_SIDE, MIN_TRIED, ItemLine, MistakeLine, item_lines, mistake_lines, readable, why_untried
from .speeds import SpeedLine, axis, place, speed_lines
from .templating import rendered

STOPPED = ("timeout", "memory", "crashed")
WRONG = ("fail", "error")
NUM_BINS = 10
MAX_CAUSES = 3


@dataclass(frozen=True)
class ExerciseLine:
    """The results of a class in one exercise. mean: points; the counts are of submissions that could be graded."""

    exercise: str
    max_points: float
    mean: float
    full: int
    partly: int
    zero: int
    not_written: int
    no_cell: int
    not_run: int
    corrected: int


@dataclass(frozen=True)
class CheckLine:
    """A check that failed on wrong answers. causes: (cause or message, how often), the most common first."""

    check: str
    exercise: str
    title: str
    hidden: bool
    failed: int
    attempts: int
    causes: tuple[tuple[str, int], ...]

    @property
    def share(self) -> float:
        return self.failed / self.attempts if self.attempts else 0.0


@dataclass(frozen=True)
class StoppedLine:
    """An exercise or cell that ran out of time or memory, or ended its process. This differs from a wrong answer."""

    student: str
    where: str
    outcome: str
    message: str


@dataclass(frozen=True)
class DayReport:
    day: Day
    results: Sequence[Result]
    mean: float
    median: float
    max_points: float
    bins: tuple[int, ...]
    """The numbers of submissions with up to 10 %, 20 % ... of the points."""
    exercises: tuple[ExerciseLine, ...]
    checks: tuple[CheckLine, ...]
    items: tuple[ItemLine, ...]
    mistakes: tuple[MistakeLine, ...]
    speeds: tuple[SpeedLine, ...]
    stopped: tuple[StoppedLine, ...]
    unreadable: tuple[Result, ...]
    late: tuple[Result, ...]
    unknown: tuple[Result, ...]
    """Submissions that were collected after the due date, without a known time of submission."""
    persons: tuple[Result, ...]
    num_graded: int


def day_report(day: Day, results: Sequence[Result]) -> DayReport:
    graded = [r for r in results if r.points is not None]
    points = [r.points or 0.0 for r in graded]
    most = max((r.max_points for r in results), default=0.0)
    read = readable(results)
    return DayReport(
        day=day,
        results=results,
        mean=mean(points) if points else 0.0,
        median=median(points) if points else 0.0,
        max_points=most,
        bins=histogram(points, most),
        exercises=tuple(exercise_lines(graded)),
        checks=tuple(check_lines(read)),
        items=tuple(item_lines(read)),
        mistakes=tuple(mistake_lines(read)),
        speeds=tuple(speed_lines(read)),
        stopped=tuple(line for r in read for line in stopped_lines(r)),
        unreadable=tuple(r for r in results if r.record.problem is not None),
        late=tuple(r for r in results if r.lateness is not None and r.lateness.late),
        unknown=tuple(r for r in results if r.lateness is not None and r.lateness.unknown is not None),
        persons=tuple(need_person(results)),
        num_graded=len(graded),
    )


def histogram(points: Sequence[float], most: float) -> tuple[int, ...]:
    bins = [0] * NUM_BINS
    for each in points:
        bins[min(int(each / most * NUM_BINS), NUM_BINS - 1) if most else 0] += 1
    return tuple(bins)


def exercise_lines(graded: Sequence[Result]) -> list[ExerciseLine]:
    lines = []
    for name in dict.fromkeys(e.exercise for r in graded for e in r.exercises):
        mine = [(r, e) for r in graded for e in r.exercises if e.exercise == name]
        full = sum(e.points >= e.max_points - 1e-6 for _, e in mine)
        zero = sum(e.points <= 1e-6 for _, e in mine)
        reasons = Counter(why_untried(r.record.exercise(name)) for r, _ in mine)
        lines.append(ExerciseLine(
            name, mine[0][1].max_points, mean(e.points for _, e in mine), full, len(mine) - full - zero, zero,
            reasons[NOT_WRITTEN], reasons[NO_CELL], reasons[NOT_RUN], sum(e.by_hand for _, e in mine),
        ))  # fmt: skip
    return lines


def check_lines(read: Sequence[Result]) -> list[CheckLine]:
    """Return the checks that failed on wrong answers, the most common first. Exercises without an answer are left out."""
    attempts: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    causes: dict[str, Counter[str]] = {}
    known: dict[str, Verdict] = {}
    for result in read:
        for exercise in result.exercises:
            verdicts = result.record.exercise(exercise.exercise)
            if why_untried(verdicts):
                continue
            for v in verdicts:
                attempts[v.check] += v.outcome != "skipped"
                if v.outcome in WRONG:
                    known[v.check] = v
                    failed[v.check] += 1
                    causes.setdefault(v.check, Counter())[v.cause or v.message.split("\n")[0][:200]] += 1
    lines = [
        CheckLine(name, known[name].exercise, known[name].title, known[name].hidden, number, attempts[name],
                  tuple(causes[name].most_common(MAX_CAUSES)))
        for name, number in failed.items()
    ]  # fmt: skip
    return sorted(lines, key=lambda line: (-line.share, line.exercise, line.check))


def stopped_lines(result: Result) -> list[StoppedLine]:
    """Return one line for each exercise or cell that was stopped, not one for each check."""
    record, lines = result.record, []
    for exercise in result.exercises:
        verdicts = record.exercise(exercise.exercise)
        stopped = [v for v in verdicts if v.outcome in STOPPED]
        if stopped:
            first = stopped[0]
            message = f"{len(stopped)} of {counted(len(verdicts), 'check')}: {first.message.splitlines()[0] if first.message else ''}"
            lines.append(StoppedLine(record.student, exercise.exercise, WORDS[first.outcome], message))
    named = {line.where for line in lines}
    for name, text in record.cells.items():
        outcome, _, message = text.partition(": ")
        if outcome in STOPPED and name not in named:
            lines.append(StoppedLine(record.student, cell_title(name), WORDS.get(outcome, outcome), message.split("\n")[0]))
    return lines


def html(results: ClassResults, now: datetime.datetime) -> str:
    """Return the page. Everything that came from a student is escaped."""
    days = [day_report(day, results.by_day[day]) for day in results.days]
    matrix = {student: {r.record.slug: r for r in results.results if r.record.student == student} for student in results.students}
    return rendered(
        "report.html.j2", days=days, missing=results.missing, matrix=matrix, damaged=results.damaged, left_out=results.left_out,
        version=__version__, when=now.strftime("%Y-%m-%d %H:%M %z"), lost=lost, ratios=axis(), place=place,
        min_tried=MIN_TRIED, min_side=MIN_SIDE,
        status=lambda result: "needs a person" if result.record.needs_person else result.record.status,
    )  # fmt: skip


def checks_csv(results: ClassResults) -> bytes:
    """Return a row for each check that failed on wrong answers."""
    rows: list[Sequence[object]] = [("day", "exercise", "check", "title", "hidden", "failed", "attempts", "likely_cause")]
    for day in results.days:
        for line in day_report(day, results.by_day[day]).checks:
            cause = line.causes[0][0] if line.causes else ""
            rows.append((
                day.slug, line.exercise, line.check, line.title, "yes" if line.hidden else "", line.failed, line.attempts, harmless(cause),
            ))  # fmt: skip
    return written(rows)
