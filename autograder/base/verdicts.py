"""What can become of a check, and the points that follow."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

PASS, FAIL, ERROR, TIMEOUT, MEMORY, CRASHED = "pass", "fail", "error", "timeout", "memory", "crashed"
INCONCLUSIVE, INFRASTRUCTURE, SKIPPED = "inconclusive", "infrastructure", "skipped"
STOPPED = "stopped"
"""By hand, in a notebook."""
NOT_RUN = "the cell that defines"
"""How every check of an exercise begins whose cell did not run to its end."""
NOT_WRITTEN = "not written yet"
"""The same, where the function is still the stub."""
NOT_MEASURED = "not measured"
"""How a check of speed begins that was not run, since no other check passes."""
TOO_SLOW = "too slow"
"""The message of whoever loses a race, or is stopped in it by the time limit."""
OUTCOMES = (PASS, FAIL, ERROR, TIMEOUT, MEMORY, CRASHED, INCONCLUSIVE, INFRASTRUCTURE, SKIPPED)


@dataclass
class Verdict:
    """What became of one check. message is one or a few sentences; the parts it is made of stand beside it."""

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
    """What the evidence carries, and nothing else: see `authoring.py` and `mistakes.py`."""
    same_as: str | None = None
    """The title of the check at which the same mistake has been told of."""
    claimed: bool = False
    """The cause is a check's own claim, by its suspects or its condition; not merely what the values show."""
    timing: bool = False
    seen: list[Any] | None = None
    """Of a failed check: the fingerprint of what it saw."""
    lines: list[str] = field(default_factory=list)
    seconds: float = 0.0
    ratio: float | None = None
    """What a check that measures speed measured: the median of its rounds. None where nothing was measured."""
    ratio_limit: float | None = None
    ratio_of: str | None = None
    """What the ratio is taken to: words that are the same on every machine."""
    times: dict[str, dict[str, float]] = field(default_factory=dict)
    """Of a lost race, for a picture: size -> whose version -> time as a multiple of the shortest (see `Race.times`)."""

    @property
    def passed(self) -> bool:
        return self.outcome == PASS

    @property
    def failed(self) -> bool:
        """Neither passed nor skipped: it costs points."""
        return self.outcome not in (PASS, SKIPPED)


def share(verdicts: Iterable[Verdict]) -> float:
    """The weighted share that passed, in [0, 1]. What was skipped counts for nothing."""
    verdicts = [v for v in verdicts if v.outcome != SKIPPED]
    total = sum(v.weight for v in verdicts)
    return sum(v.weight for v in verdicts if v.passed) / total if total else 0.0


def only_stubs(exercise: str, verdicts: list[Verdict]) -> list[Verdict]:
    """Those of checks that met a stub, where there was nothing else to meet; else [].

    A check may catch what a function raises, and then says something else of the stub; but where the exercise's own stub is met and
    nothing passes, nothing is written.
    """
    met = [v for v in verdicts if v.message.startswith(NOT_WRITTEN)]
    others = [v for v in verdicts if v not in met and v.outcome != SKIPPED and not v.message.startswith(NOT_MEASURED)]
    own = all(v.message == f"{NOT_WRITTEN}: {exercise}" for v in met)
    return met if not others or (own and all(v.failed for v in others)) else []
