"""Speed, graded fairly: ratios within one run, in processor time read from outside, with three outcomes.

A student's version is held against two rivals that run in processes of their own under the same limits and with one thread:
the reference, and a naive version that gives the same answer. It passes where it stays below the geometric mean of the two, so
that both have room: with a naive version 6 times as slow as the reference, a right version may be 2.4 times as slow.
Student and reference alternate; three rounds or more, until all rounds agree or time is up. Rounds that disagree to the end
are `Inconclusive`, never a verdict: the run measures again with more rounds (`lane.py`), and then asks a person.

The grader's clock for a process is the kernel's count of its processor time: other load hardly moves it, and the process
cannot. Nothing that a student's process says of time is read.
"""

from __future__ import annotations

import atexit
import functools
import math
import statistics
import threading
import time
from collections.abc import Callable
from typing import Any

from torch import Tensor

from ..authoring import CheckFailed, close, equal
from ..course_table import earlier_sources, solution_source
from ..errors import InfrastructureFault
from . import isolation
from .far import Cell, Far
from .limits import Limits
from .near import Near
from .remote import WorkerDied
from .threads import one_thread
from .warm import Zygote

TOO_SLOW = "too slow"
"""The message of whoever loses a race, or is stopped in it by the time limit."""
MIN_ROUNDS = 3
MAX_ROUNDS = 15
HOPELESS = 3.0
"""So far above the limit in the first round, nobody waits for two more."""
SECONDS = 20.0
"""Of the wall: after so long the rounds that there are must do."""
PATIENCE = 3
"""So many times as many rounds for what was inconclusive before."""
MAJORITY = 0.8
"""Of the rounds, where they do not all agree at the end."""
MIN_SPREAD = 4.0
"""The naive version must be so many times as slow as the reference here and now; else nothing can be told apart."""
CLEAR_SPREAD = 16.0
"""So many times as slow in a first round is slow enough, whatever a second would say."""
CURVE_SECONDS = 2.0
"""For the picture of a cost that grows. It is drawn whole, and a second and third time while this is not spent."""
SPREAD_SECONDS = 600.0
"""How long the ratio of the two rivals, which no submission can change, is taken to hold."""

Call = Callable[[Any], Any]


class Inconclusive(Exception):
    """The rounds do not agree, or the rivals cannot be told apart on this machine just now. No verdict on anybody."""


class Race:
    """What a timing check asks for as `race`. student: a Near or Far namespace."""

    def __init__(self, topic: str, student: Near | Far, *, patient: bool = False) -> None:
        self.topic, self.student = topic, student
        self.max_rounds, self.seconds = (PATIENCE * MAX_ROUNDS, PATIENCE * SECONDS) if patient else (MAX_ROUNDS, SECONDS)
        self.ratios: list[float] = []
        """Of the last measurement, what they were held against, and what they are ratios to."""
        self.limit = math.nan
        self.of = ""
        self.times: dict[str, dict[str, float]] = {}
        """For a picture of a lost race: of each size ("" where there is one), whose version -> multiples of the shortest time."""

    def against(self, naive: str, call: Call, *, cause: str | None = None) -> None:
        """Fails where `call(student)` takes more processor time than the geometric mean of reference and naive version.

        naive: Python source that runs after the reference module and redefines what is naive. call: does the work on a namespace and
        returns its value, which must be the reference's. Raises CheckFailed, Inconclusive.
        """
        self.of = "the reference's processor time"
        with _alone, one_thread():
            rivals = _rivals(self.topic, isinstance(self.student, Near))
            reference = rivals.get("")
            wanted, _ = _timed(reference, call)
            expected = "a time near the reference's"
            try:
                got, _ = _timed(self.student, call)  # also the warm-up: it loads the model
                _same(got, wanted)
                spread = rivals.spread(naive, call)
                if spread < MIN_SPREAD:
                    raise Inconclusive(f"the naive version takes only {spread:.1f} times the reference's time on this machine just now")
                limit = math.sqrt(spread)
                expected = f"at most {limit:.1f} times the reference's processor time (the naive version takes {spread:.1f} times)"
                ratios, won = self._rounds(functools.partial(_ratio, self.student, reference, call), limit)
            except WorkerDied as died:
                if died.outcome != "timeout":
                    raise
                raise CheckFailed(TOO_SLOW, expected=expected, got=str(died), cause=cause) from None
        if not won:
            median = statistics.median(ratios)
            self.times = {"": {"reference": 1.0, "yours": median, "naive version": spread}}
            raise CheckFailed(TOO_SLOW, expected=expected, got=f"{median:.1f} times", cause=cause)

    def growth(
        self,
        prepare: Callable[[Any, int], Any],
        call: Callable[..., Any],
        *,
        short: int,
        long: int,
        limit: float,
        cause: str | None = None,
    ) -> None:
        """Fails where the work costs more than `limit` times as much at size `long` as at size `short`.

        prepare(namespace, size) makes a state and is not timed; call(namespace, state=state) is, and returns a value, which must be the
        reference's. Raises CheckFailed, Inconclusive.
        """
        self.of = f"its own processor time at size {short}, measured at size {long}"
        with _alone, one_thread():
            reference = _rivals(self.topic, isinstance(self.student, Near)).get("")

            def timed(namespace: Any, size: int) -> tuple[Any, float]:
                return _timed(namespace, functools.partial(call, state=prepare(namespace, size)))

            def ratio(flip: bool) -> float:
                seconds = {size: timed(self.student, size)[1] for size in ((long, short) if flip else (short, long))}
                return seconds[long] / seconds[short]

            expected = f"at most {limit:g} times the processor time at {long} of that at {short}"
            try:
                first = {size: timed(self.student, size) for size in (short, long)}
                grown = first[long][1] / first[short][1]
                if grown > HOPELESS * limit:
                    self.ratios, self.limit, flat = [grown], limit, False
                else:
                    for size, (value, _) in first.items():
                        _same(value, call(reference, state=prepare(reference, size)))
                    ratios, flat = self._rounds(ratio, limit)
                    grown = statistics.median(ratios)
            except WorkerDied as died:
                if died.outcome != "timeout":
                    raise
                raise CheckFailed(TOO_SLOW, expected=expected, got=str(died), cause=cause) from None
            if not flat:
                self.times = _curve({"reference": reference, "yours": self.student}, _doubling(short, long), timed)
                raise CheckFailed("the cost grows with the length", expected=expected, got=f"{grown:.1f} times", cause=cause)

    def _rounds(self, ratio: Callable[[bool], float], limit: float) -> tuple[list[float], bool]:
        """Ratios of all rounds, and whether they are below the limit. Raises Inconclusive."""
        self.ratios, self.limit = [], limit
        ratios = self.ratios
        until = time.monotonic() + self.seconds
        while len(ratios) < self.max_rounds and (len(ratios) < MIN_ROUNDS or time.monotonic() < until):
            ratios.append(ratio(len(ratios) % 2 == 1))
            if ratios[0] > HOPELESS * limit:
                return ratios, False
            below = sum(r < limit for r in ratios) / len(ratios)
            if len(ratios) >= MIN_ROUNDS and below in (0, 1):
                return ratios, below == 1
        if below >= MAJORITY or below <= 1 - MAJORITY:
            return ratios, below >= MAJORITY
        low, high = min(ratios), max(ratios)
        raise Inconclusive(f"{len(ratios)} rounds gave {low:.2f} to {high:.2f}, on both sides of the limit {limit:.2f}")


class Rivals:
    """The reference and the naive versions of a topic: in workers of a zygote that no submission is forked from, or in this process."""

    def __init__(self, topic: str, near: bool) -> None:
        self.topic, self.near = topic, near
        self.namespaces: dict[str, Near | Far] = {}
        self.spreads: dict[str, tuple[float, float]] = {}

    def get(self, naive: str) -> Any:
        """The namespace of the reference module with `naive` run after it."""
        if naive not in self.namespaces:
            source = solution_source(self.topic)
            if self.near:
                namespace: dict[str, Any] = {"__name__": "rival"}
                for text in (source, naive):
                    exec(compile(text, "<rival>", "exec"), namespace)
                self.namespaces[naive] = Near(namespace)
            else:
                cells = [Cell("reference", source), Cell("naive", naive)]
                self.namespaces[naive] = Far(self.topic, cells, earlier_sources(self.topic), limits=LIMITS, parent=_rival_zygote)
        rival = self.namespaces[naive]
        if isinstance(rival, Far):
            rival._begin_check()
        return rival

    def spread(self, naive: str, call: Call) -> float:
        """How many times the reference's time the naive version takes: the median of interleaved rounds."""
        key = f"{naive}\n{call.__module__}.{call.__qualname__}"
        measured, value = self.spreads.get(key, (-math.inf, 0.0))
        if time.monotonic() - measured > SPREAD_SECONDS:
            reference, slow = self.get(""), self.get(naive)
            wanted, seconds = _timed(reference, call)
            got, slow_seconds = _timed(slow, call)
            _same(got, wanted, ours=True)
            value = slow_seconds / seconds
            if value < CLEAR_SPREAD:
                value = statistics.median(_ratio(slow, reference, call, number % 2 == 1) for number in range(MIN_ROUNDS))
            self.spreads[key] = time.monotonic(), value
        return value

    def close(self) -> None:
        for rival in self.namespaces.values():
            if isinstance(rival, Far):
                rival.close()


LIMITS = Limits(call_seconds=60.0, check_seconds=math.inf, submission_seconds=math.inf)
"""A rival is ours: a naive version may take its time."""
_alone = threading.RLock()
"""One race at a time in this process."""


@functools.cache
def _rivals(topic: str, near: bool) -> Rivals:
    rivals = Rivals(topic, near)
    atexit.register(rivals.close)
    return rivals


_zygote: Zygote | None = None


def _rival_zygote() -> Zygote:
    """A zygote of the rivals' own: their workers hold the answer, and no submission's worker is their sibling."""
    global _zygote
    if _zygote is None or not _zygote.alive:
        _zygote = Zygote(LIMITS, isolation.level())
        atexit.register(_zygote.close)
    return _zygote


def _timed(namespace: Any, call: Call) -> tuple[Any, float]:
    """(value, processor seconds of the process that did the work). A fault of a rival is ours."""
    start = namespace.clock()
    try:
        value = call(namespace)
    except Exception as error:
        if isinstance(namespace, Far) and namespace._limits is LIMITS:
            raise InfrastructureFault(f"a rival version failed: {type(error).__name__}: {error}") from error
        raise
    return value, max(namespace.clock() - start, 1e-9)


def _ratio(one: Any, other: Any, call: Call, flip: bool) -> float:
    """How many times the other's processor time the one takes, one directly after the other; flip: the other goes first."""
    seconds = {id(namespace): _timed(namespace, call)[1] for namespace in ((other, one) if flip else (one, other))}
    return seconds[id(one)] / seconds[id(other)]


def _doubling(short: int, long: int) -> list[int]:
    """short, twice that, and so on, up to long."""
    sizes = [short]
    while 2 * sizes[-1] < long:
        sizes.append(2 * sizes[-1])
    return [*sizes, long]


def _curve(
    namespaces: dict[str, Any], sizes: list[int], timed: Callable[[Any, int], tuple[Any, float]]
) -> dict[str, dict[str, float]]:
    """size -> whose version -> its time there as a multiple of its time at the first size; the least of up to three measurements.

    Nothing where the student's version fails at one of them, in whatever way: the verdict stands already.
    """
    seconds = {size: dict.fromkeys(namespaces, math.inf) for size in sizes}
    until = time.monotonic() + CURVE_SECONDS
    try:
        for _ in range(MIN_ROUNDS):
            for size in sizes:
                for name, namespace in namespaces.items():
                    seconds[size][name] = min(seconds[size][name], timed(namespace, size)[1])
            if time.monotonic() > until:
                break
    except InfrastructureFault:
        raise
    except Exception:
        return {}
    return {f"{size:,}": {name: value / seconds[sizes[0]][name] for name, value in of.items()} for size, of in seconds.items()}


def _same(got: Any, wanted: Any, *, ours: bool = False) -> None:
    """Fails where the two values differ: a fast wrong answer wins no race."""
    what = "the raced call gives another answer than the reference"
    try:
        if isinstance(wanted, Tensor) and wanted.is_floating_point():
            close(got, wanted, atol=1e-3, rtol=1e-3, what=what)
        else:
            equal(got, wanted, what=what)
    except CheckFailed as failed:
        if ours:
            raise InfrastructureFault(f"a rival version is wrong: {failed}") from None
        raise
