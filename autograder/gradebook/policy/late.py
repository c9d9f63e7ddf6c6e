"""The late policy: one rule for a class, in its late.txt, such as `10% a day, at most 50%`.

The rule is applied whenever results are read, so a regrade, correction or extension leaves no old penalty. For nbgrader's pages,
penalties are also written into its gradebook. In a class without a rule, nbgrader's own penalties in the gradebook stay.
"""

from __future__ import annotations

import datetime
import math
import re
from dataclasses import dataclass
from pathlib import Path

from ...base.errors import CourseError
from .deadlines import Lateness
from .rule_files import read_rule, write_rule

NAME = "late.txt"
FORM = '"10% a day", or "10% a day, at most 50%"'
RULE = re.compile(r"(\d+(?:\.\d+)?) ?% a day(?:, at most (\d+(?:\.\d+)?) ?%)?")
DAY_LENGTH = datetime.timedelta(days=1)


@dataclass(frozen=True)
class Rule:
    """A late rule. per_day: the percentage of the earned points that each begun late day costs; at_most: the largest percentage in all."""

    per_day: float
    at_most: float = 100.0

    @property
    def text(self) -> str:
        return f"{self.per_day:g}% a day, at most {self.at_most:g}%"

    def penalty(self, points: float, when: Lateness | None) -> float:
        """Return the points to subtract. A submission that is late by an unknown time is charged one day."""
        if when is None or not when.late:
            return 0.0
        days = 1 if when.by is None else math.ceil(when.by / DAY_LENGTH)
        return round(points * min(self.per_day * days, self.at_most) / 100, 4)


def parse_rule(text: str) -> Rule:
    """Return the rule in a text. Raises CourseError."""
    found = RULE.fullmatch(text.strip())
    rule = Rule(float(found[1]), float(found[2] or 100)) if found else None
    if rule is None or not (rule.per_day <= 100 and rule.at_most <= 100):
        raise CourseError(f"{text.strip()!r} is not a valid late policy: give {FORM}")
    return rule


def late_rule(root: Path) -> Rule | None:
    """Return the class's rule; None if it has none. Raises CourseError."""
    return read_rule(root / NAME, parse_rule)


def set_rule(root: Path, rule: Rule | None) -> None:
    write_rule(root / NAME, rule.text if rule else None)
