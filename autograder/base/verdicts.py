"""The possible outcomes of a check, and the points that follow."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

PASS, FAIL, ERROR, TIMEOUT, MEMORY, CRASHED = "pass", "fail", "error", "timeout", "memory", "crashed"
INCONCLUSIVE, INFRASTRUCTURE, SKIPPED = "inconclusive", "infrastructure", "skipped"
STOPPED = "stopped"
"""The outcome of a check that was stopped by hand, in a notebook."""
NOT_RUN = "the cell that defines"
"""The beginning of every message of an exercise whose cell did not run to its end."""
NOT_WRITTEN = "not written yet"
"""The beginning of the same message for a function that is still the stub."""
NO_CELL = "its cell"
"""The beginning of the note on an exercise whose cell is missing or is not a code cell; the note is the cause of each such verdict."""
NOT_MEASURED = "not measured"
"""The beginning of a timing check's message when it was not run, since no other check passes."""
TOO_SLOW = "too slow"
"""The message of code that loses a race, or is stopped in it by the time limit."""
OUTCOMES = (PASS, FAIL, ERROR, TIMEOUT, MEMORY, CRASHED, INCONCLUSIVE, INFRASTRUCTURE, SKIPPED)


@dataclass
class Verdict:
    """The outcome of one check. message: one or a few sentences, whose parts are also in other fields."""

    check: str
    exercise: str
    title: str
    weight: float
    hidden: bool
    outcome: str
    message: str = ""
    expected: str | None = None
    got: str | None = None
    cause: str | None = None
    """The cause that the evidence shows, and nothing else: see `authoring.py` and `mistakes.py`."""
    same_as: str | None = None
    """The title of the check at which the same mistake was reported."""
    claimed: bool = False
    """The origin of the cause: True for a check's own claim, by its suspects or its condition; not merely what the values show."""
    timing: bool = False
    seen: list[Any] | None = None
    """The fingerprint of what a failed check saw."""
    lines: list[str] = field(default_factory=list)
    seconds: float = 0.0
    ratio: float | None = None
    """The median of the rounds that a timing check measured. None if nothing was measured."""
    ratio_limit: float | None = None
    ratio_of: str | None = None
    """The baseline of the ratio: words that are the same on every machine."""
    times: dict[str, dict[str, float]] = field(default_factory=dict)
    """The times of a lost race, for a picture: size -> whose version -> time as a multiple of the shortest (see `Race.times`)."""

    @property
    def passed(self) -> bool:
        return self.outcome == PASS

    @property
    def failed(self) -> bool:
        """Return True if the check neither passed nor was skipped. Such a check costs points."""
        return self.outcome not in (PASS, SKIPPED)


def share(verdicts: Iterable[Verdict]) -> float:
    """Return the weighted share of checks that passed, in [0, 1]. Skipped checks are ignored."""
    verdicts = [v for v in verdicts if v.outcome != SKIPPED]
    total = sum(v.weight for v in verdicts)
    return sum(v.weight for v in verdicts if v.passed) / total if total else 0.0


def only_stubs(exercise: str, verdicts: list[Verdict]) -> list[Verdict]:
    """Return the verdicts that report a stub, if the exercise is not written yet; otherwise [].

    A check may catch the stub's exception and report it differently. So an exercise also counts as unwritten if a check met its own stub
    and no check passes.
    """
    met = [v for v in verdicts if v.message.startswith(NOT_WRITTEN)]
    others = [v for v in verdicts if v not in met and v.outcome != SKIPPED and not v.message.startswith(NOT_MEASURED)]
    own = all(v.message == f"{NOT_WRITTEN}: {exercise}" for v in met)
    return met if not others or (own and all(v.failed for v in others)) else []
