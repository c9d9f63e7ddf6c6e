"""The weights of days in a course's grade: one rule for a class, in its weights.txt, such as `day05=2, day01=0, best 10, missing 0`.

A student's percentage is the weighted mean of the days' shares, points of maximum points, of the days that count.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ...base.errors import CourseError
from ...lessons import find_day
from .rule_files import read_rule, write_rule

NAME = "weights.txt"
FORM = '"day05=2, day01=0, best 10, missing 0": a day weighs 1 if it is not named; the other two parts are optional'


@dataclass(frozen=True)
class Weights:
    """The weights of days in the course's grade. of: {slug: weight} of the days whose weight is not 1.

    best: the number of days that count, those with the highest shares; None: all days.
    missing_counts: a day that was not handed in counts as 0 after its due date, or at once if it has no due date.
    """

    of: Mapping[str, float] = field(default_factory=dict)
    best: int | None = None
    missing_counts: bool = False

    @property
    def text(self) -> str:
        parts = [f"{slug.partition('_')[0]}={weight:g}" for slug, weight in sorted(self.of.items())]
        return ", ".join([*parts, *([f"best {self.best}"] if self.best else []), *(["missing 0"] if self.missing_counts else [])])

    def percentage(self, shares: Mapping[str, float]) -> tuple[float | None, int]:
        """Return the percentage and the number of days that count, for {slug: share in [0, 1]}; None if no day counts.

        A day of weight 0 never counts. Of two days with the same share, the day with the larger weight comes first.
        """
        counted = sorted(((share, self.of.get(slug, 1.0)) for slug, share in shares.items() if self.of.get(slug, 1.0) > 0), reverse=True)
        counted = counted[: self.best]
        if not counted:
            return None, 0
        return round(100 * sum(share * weight for share, weight in counted) / sum(weight for _, weight in counted), 2), len(counted)


def parse_weights(text: str) -> Weights:
    """Return the rule in a text. Raises CourseError."""
    of: dict[str, float] = {}
    best: int | None = None
    missing_counts = False
    for part in text.split(","):
        words = part.split()
        name, equals, weight = "".join(words).partition("=")
        if words[:1] == ["best"] and len(words) == 2 and words[1].isdecimal() and int(words[1]) > 0 and best is None:
            best = int(words[1])
        elif words == ["missing", "0"]:
            missing_counts = True
        elif equals and _is_weight(weight) and (slug := find_day(name).slug) not in of:
            of[slug] = float(weight)
        else:
            raise CourseError(f"{part.strip()!r} is not a valid part of a weights rule: give {FORM}")
    return Weights({slug: weight for slug, weight in of.items() if weight != 1}, best, missing_counts)


def _is_weight(text: str) -> bool:
    whole, _, rest = text.partition(".")
    return (whole + rest).isdecimal() and (whole + rest).isascii() and len(text) <= 10


def class_weights(root: Path) -> Weights | None:
    """Return the class's rule; None if it has none. Raises CourseError."""
    return read_rule(root / NAME, parse_weights)


def set_weights(root: Path, rule: Weights | None) -> None:
    write_rule(root / NAME, rule.text if rule else None)
