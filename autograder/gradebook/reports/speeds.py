"""Speed of a class's solutions: for each check that measures speed, the outcomes and the spread of the measured ratios.

The figures are ratios and not seconds, because machines differ. A ratio is measured within one run, to a reference that ran beside it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median, quantiles

from ...base.verdicts import FAIL, INCONCLUSIVE, PASS, TOO_SLOW, Verdict
from ..lms.tables import harmless, written
from ..results import ClassResults, Result

STEPS_PER_DOUBLING = 2
FIRST_EDGE, LAST_EDGE = 0.5, 16.0
"""The range of the bins, which are equal on a logarithmic scale: half the time is as far from 1 as double the time."""
NUM_BINS = round(math.log2(LAST_EDGE / FIRST_EDGE) * STEPS_PER_DOUBLING) + 2


@dataclass(frozen=True)
class SpeedLine:
    """The results of one speed check in a class. ratios: all measured ratios, sorted; limit: a passing ratio is below it.

    failed: the number of answers that were too slow. unmeasured: the number of answers whose exercise passed no other check, or whose raced
    call gave another result or none.
    """

    check: str
    exercise: str
    title: str
    hidden: bool
    of: str
    passed: int
    failed: int
    inconclusive: int
    unmeasured: int
    limit: float
    ratios: tuple[float, ...]

    @property
    def quartiles(self) -> tuple[float, float, float]:
        if len(self.ratios) < 2:
            return (self.ratios[0],) * 3
        low, middle, high = quantiles(self.ratios, n=4, method="inclusive")
        return low, middle, high

    @property
    def bins(self) -> tuple[int, ...]:
        """Return a histogram of the ratios: below FIRST_EDGE, in each half doubling from there, and above LAST_EDGE."""
        counted = Counter(bin_of(ratio) for ratio in self.ratios)
        return tuple(counted[index] for index in range(NUM_BINS))

    @property
    def words(self) -> str:
        """Return the histogram in words."""
        if not self.ratios:
            return "Nothing could be measured."
        if len(self.ratios) == 1:
            return f"One ratio: {self.ratios[0]:.2f}; the limit is {self.limit:.2f}."
        low, middle, high = self.quartiles
        return (
            f"{len(self.ratios)} ratios from {self.ratios[0]:.2f} to {self.ratios[-1]:.2f}; the middle half is between {low:.2f} and "
            f"{high:.2f}, the median is {middle:.2f}; the limit is {self.limit:.2f}."
        )


def bin_of(ratio: float) -> int:
    return min(max(math.floor(place(ratio)) + 1, 0), NUM_BINS - 1)


def place(ratio: float) -> float:
    """Return a ratio's place on the picture's axis, in bins from FIRST_EDGE."""
    return math.log2(ratio / FIRST_EDGE) * STEPS_PER_DOUBLING


def axis() -> list[float]:
    """Return the ratios that label the picture's axis: one for each doubling."""
    return [FIRST_EDGE * 2**n for n in range(round(math.log2(LAST_EDGE / FIRST_EDGE)) + 1)]


def measured(results: Sequence[Result]) -> Iterator[tuple[Result, Verdict]]:
    """Yield every verdict of a speed check."""
    for result in results:
        if result.points is not None and result.record.problem is None:
            yield from ((result, v) for v in result.record.verdicts if v.timing)


def speed_lines(results: Sequence[Result]) -> list[SpeedLine]:
    """Return a line for each speed check of a day, in the order of the checks."""
    found: dict[str, list[Verdict]] = {}
    for _, verdict in measured(results):
        found.setdefault(verdict.check, []).append(verdict)
    lines = []
    for name, verdicts in found.items():
        check, raced = verdicts[-1], [v for v in verdicts if v.ratio is not None]
        passed = sum(v.outcome == PASS for v in verdicts)
        slow = sum(v.outcome == FAIL and (v.ratio is not None or v.message == TOO_SLOW) for v in verdicts)
        unclear = sum(v.outcome == INCONCLUSIVE for v in verdicts)
        lines.append(SpeedLine(
            check=name, exercise=check.exercise, title=check.title, hidden=check.hidden,
            of=next((v.ratio_of for v in raced if v.ratio_of), "the reference's processor time"),
            passed=passed, failed=slow, inconclusive=unclear, unmeasured=len(verdicts) - passed - slow - unclear,
            limit=median(v.ratio_limit or math.nan for v in raced) if raced else math.nan,
            ratios=tuple(sorted(v.ratio for v in raced if v.ratio is not None)),
        ))  # fmt: skip
    return lines


def speed_csv(results: ClassResults) -> bytes:
    """Return a row for each submission and each speed check."""
    rows: list[Sequence[object]] = [("day", "student", "exercise", "check", "outcome", "ratio", "limit", "ratio_of", "message")]
    for day in results.days:
        for result, verdict in measured(results.by_day[day]):
            numbers = ("" if n is None else f"{n:.3f}" for n in (verdict.ratio, verdict.ratio_limit))
            rows.append((
                day.slug, harmless(result.record.student), verdict.exercise, verdict.check, verdict.outcome, *numbers,
                verdict.ratio_of or "", harmless(verdict.message.split("\n")[0][:200]),
            ))  # fmt: skip
    return written(rows)
