"""Fair grading of speed: ratios within one run, in processor time read from outside, with three outcomes.

A student's version is compared with two rivals that run in processes of their own under the same limits and with one thread: the reference,
and a naive version that gives the same answer. The student's version passes if its time is below the geometric mean of theirs: with a naive
version 6 times as slow as the reference, a correct version may be 2.4 times as slow. Student and reference alternate for three rounds or
more, until all rounds agree or time is up. Rounds that still disagree at the end are `Inconclusive`, never a verdict: the run measures
again with more rounds (`timing_phase.py`), and then asks a person.

The grader's clock for a process is the kernel's count of its processor time: other load hardly moves it, and the process cannot. Nothing
that a student's process reports about time is read.

No input is used twice, so no answer helps with a later one. Every round draws its inputs from the run's seed and the round's number; the
first call, which is also the warm-up, has inputs of its own, too. Each value is compared with the reference's for that input.
"""

from __future__ import annotations

import atexit
import functools
import hashlib
import math
import statistics
import threading
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from course.kit.threads import one_thread

from ...authoring import CheckFailed, Student, close, equal
from ...base.course_table import earlier_sources, solution_source
from ...base.errors import InfrastructureFault
from ...base.verdicts import TOO_SLOW
from ..confine.limits import BUSY_MACHINE, Limits
from ..process import forkserver_pool
from ..process.forkserver_client import ForkServer
from ..process.local import LocalStudent
from ..process.remote_student import RemoteStudent
from ..protocol.worker_errors import WorkerDied
from ..submission import Cell

MIN_ROUNDS = 3
MAX_ROUNDS = 15
HOPELESS = 3.0
"""Multiple of the limit above which the first round already decides."""
SECONDS = 20.0
"""Wall seconds after which the rounds so far must suffice."""
PATIENCE = 3
"""Factor on the rounds and seconds of a check that was inconclusive before."""
MAJORITY = 0.8
"""Share of the rounds that decides if they do not all agree at the end."""
MIN_SPREAD = 4.0
"""Least ratio of the naive version's time to the reference's here and now; below it the two cannot be distinguished."""
CLEAR_SPREAD = 16.0
"""Ratio of a first round that is slow enough, whatever a second would give."""
CURVE_SECONDS = 2.0
"""Seconds for the plot of a growing cost. It is measured whole, and a second and third time while these are not spent."""
SPREAD_SECONDS = 600.0
"""Seconds for which the ratio of the two rivals, which no submission can change, is reused."""

Call = Callable[..., Any]
"""Work of one round: call(namespace, inputs) does it and returns its value."""
Draw = Callable[[torch.Generator], Any]
"""Inputs of one round: draw(generator) makes them."""
Agree = Callable[[Any, Any, Any], None]
"""Comparison of two values: agree(inputs, got, wanted) fails if `got` is wrong for the inputs; `wanted` is the reference's."""


class Inconclusive(Exception):
    """A race without a verdict: its rounds disagree, or this machine cannot tell the rivals apart just now."""


def _cause_of_timeout(died: WorkerDied, cause: str | None) -> str | None:
    """Return the cause of a call stopped at its limit: none if it may have waited for a busy machine."""
    return None if BUSY_MACHINE in str(died) else cause


class Race:
    """The `race` argument of a timing check. student: a local or remote student. seed: the seed of this run and check, for the inputs."""

    def __init__(self, topic: str, student: Student, *, seed: str = "", patient: bool = False) -> None:
        self.topic, self.student = topic, student
        self.draws = Draws(f"{seed}/{patient}")
        self.max_rounds, self.seconds = (PATIENCE * MAX_ROUNDS, PATIENCE * SECONDS) if patient else (MAX_ROUNDS, SECONDS)
        self.ratios: list[float] = []
        """Ratios of the last measurement; `limit` is their limit, and `of` names their denominator."""
        self.limit = math.nan
        self.of = ""
        self.times: dict[str, dict[str, float]] = {}
        """Data for a plot of a lost race: size ("" for a single one) -> version -> multiple of the shortest time."""

    def against(self, naive: str, draw: Draw, call: Call, *, agree: Agree | None = None, cause: str | None = None) -> None:
        """Raise CheckFailed if the student's call takes more processor time than the geometric mean of reference and naive version.

        The call is `call(student, inputs)`. naive: Python source that runs after the reference module and redefines the naive part. agree:
        the test of the student's value, if it may differ from the reference's. Raises Inconclusive, too.
        """
        self.of = "the reference's processor time"
        agree = agree or _same
        with _alone, one_thread():
            rivals = _rivals(self.topic, isinstance(self.student, LocalStudent))
            reference = rivals.get("")
            expected = "a time near the reference's"
            try:
                _duel(self.student, reference, self.draws.next(draw), call, agree)  # the warm-up: it loads the model
                spread = rivals.spread(naive, draw, call, agree)
                if spread < MIN_SPREAD:
                    raise Inconclusive(f"the naive version takes only {spread:.1f} times the reference's time on this machine just now")
                limit = math.sqrt(spread)
                expected = f"at most {limit:.1f} times the reference's processor time (the naive version takes {spread:.1f} times)"
                ratios, won = self._rounds(
                    lambda flip: _duel(self.student, reference, self.draws.next(draw), call, agree, flip=flip), limit
                )
            except WorkerDied as died:
                if died.outcome != "timeout":
                    raise
                raise CheckFailed(TOO_SLOW, expected=expected, got=str(died), cause=_cause_of_timeout(died, cause)) from None
        if not won:
            median = statistics.median(ratios)
            self.times = {"": {"reference": 1.0, "yours": median, "naive version": spread}}
            raise CheckFailed(TOO_SLOW, expected=expected, got=f"{median:.1f} times", cause=cause)

    def growth(
        self,
        draw: Callable[[torch.Generator, int], Any],
        prepare: Callable[[Any, Any], Any],
        call: Callable[..., Any],
        *,
        short: int,
        long: int,
        limit: float,
        slow: float,
        cause: str | None = None,
    ) -> None:
        """Raise CheckFailed if the work's cost grows too much with its size.

        The work may cost at most `limit` times as much at size `long` as at size `short`. At size `long` it may also cost at most `slow`
        times as much as the reference's work: work that is equally slow at every size does not grow.

        draw(generator, size) makes the inputs; prepare(namespace, inputs) makes a state and is not timed. call(namespace, inputs,
        state=state) is timed and must return the same value as the reference's. Raises Inconclusive, too.
        """
        grown = Series(limit, f"its own processor time at size {short}, measured at size {long}")
        slower = Series(slow, f"the reference's processor time at size {long}")
        expected = f"at most {limit:g} times the processor time at {long} of that at {short}, and {slow:g} times the reference's at {long}"
        with _alone, one_thread():
            versions = {"reference": _rivals(self.topic, isinstance(self.student, LocalStudent)).get(""), "yours": self.student}
            work = GrowingWork(draw, prepare, call, self.draws, versions, short, long)
            try:
                well = self._grows_little(work, grown, slower)
            except WorkerDied as died:
                if died.outcome != "timeout":
                    raise
                raise CheckFailed(TOO_SLOW, expected=expected, got=str(died), cause=_cause_of_timeout(died, cause)) from None
            shown = grown if well or grown.share >= slower.share else slower
            self.ratios, self.limit, self.of = shown.ratios, shown.limit, shown.of
            if not well:
                times = f"{statistics.median(shown.ratios):.1f} times"
                if shown is slower:
                    self.times = {f"{long:,}": {"reference": 1.0, "yours": statistics.median(shown.ratios)}}
                    raise CheckFailed(TOO_SLOW, expected=expected, got=f"{times} the reference's at {long}", cause=cause)
                self.times = work.curve()
                raise CheckFailed("the cost grows with the length", expected=expected, got=times, cause=cause)

    def _grows_little(self, work: GrowingWork, grown: Series, slower: Series) -> bool:
        """Measure work against both limits and return whether it stays below them. Raises Inconclusive."""
        if work.measure(grown, slower) > HOPELESS:  # the warm-up
            return False
        grown.ratios, slower.ratios = [], []
        _, well = self._rounds(lambda flip: work.measure(grown, slower, flip=flip), 1.0)
        return well

    def _rounds(self, ratio: Callable[[bool], float], limit: float) -> tuple[list[float], bool]:
        """Return the ratios of all rounds, and whether they are below the limit. Raises Inconclusive."""
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


class Draws:
    """Inputs for each round, drawn from a seed and the round's number. A seed always gives the same inputs; no two rounds share theirs."""

    def __init__(self, seed: str) -> None:
        self.seed, self.number = seed, 0

    def next(self, draw: Draw) -> Any:
        self.number += 1
        digest = hashlib.sha256(f"{self.seed}/{self.number}".encode()).digest()
        return draw(torch.Generator().manual_seed(int.from_bytes(digest[:7], "big")))


@dataclass
class Series:
    """The ratios of one kind from all rounds, with their limit and the name of their denominator."""

    limit: float
    of: str
    ratios: list[float] = field(default_factory=list)

    @property
    def share(self) -> float:
        """Return the ratios' median as a share of the limit."""
        return statistics.median(self.ratios) / self.limit


@dataclass
class GrowingWork:
    """One piece of work that the reference and a student's version do at several sizes; see `Race.growth` for draw, prepare and call."""

    draw: Callable[[torch.Generator, int], Any]
    prepare: Callable[[Any, Any], Any]
    call: Call
    draws: Draws
    versions: dict[str, Any]
    short: int
    long: int

    def measure(self, grown: Series, slower: Series, *, flip: bool = False) -> float:
        """Measure one round. Return the larger of its two ratios, each divided by its limit. flip: the long size goes first."""
        yours: dict[int, float] = {}
        reference: dict[int, float] = {}
        for size in (self.long, self.short) if flip else (self.short, self.long):
            inputs = self.inputs_of(size)
            got, yours[size] = self.timed("yours", inputs)
            wanted, reference[size] = self.timed("reference", inputs)
            _same(inputs, got, wanted)
        grown.ratios.append(yours[self.long] / yours[self.short])
        slower.ratios.append(yours[self.long] / reference[self.long])
        return max(grown.ratios[-1] / grown.limit, slower.ratios[-1] / slower.limit)

    def inputs_of(self, size: int) -> Any:
        return self.draws.next(lambda rng: self.draw(rng, size))

    def timed(self, version: str, inputs: Any) -> tuple[Any, float]:
        namespace = self.versions[version]
        return _timed(namespace, functools.partial(self.call, inputs=inputs, state=self.prepare(namespace, inputs)))

    def curve(self) -> dict[str, dict[str, float]]:
        """Return {size: {version: its time there / its time at the first size}}, each time the least of up to three measurements.

        The result is empty if a version fails at any of the sizes: the verdict is already known.
        """
        sizes = _doubling(self.short, self.long)
        seconds = {size: dict.fromkeys(self.versions, math.inf) for size in sizes}
        until = time.monotonic() + CURVE_SECONDS
        try:
            for _ in range(MIN_ROUNDS):
                for size in sizes:
                    for name in self.versions:
                        seconds[size][name] = min(seconds[size][name], self.timed(name, self.inputs_of(size))[1])
                if time.monotonic() > until:
                    break
        except InfrastructureFault:
            raise
        except Exception:
            return {}
        return {f"{size:,}": {name: value / seconds[sizes[0]][name] for name, value in of.items()} for size, of in seconds.items()}


class Rivals:
    """The reference and the naive versions of a topic: in workers of a fork server without submissions, or in this process."""

    def __init__(self, topic: str, local: bool) -> None:
        self.topic, self.local = topic, local
        self.namespaces: dict[str, LocalStudent | RemoteStudent] = {}
        self.spreads: dict[str, tuple[float, float]] = {}

    def get(self, naive: str) -> Any:
        """Return the namespace of the reference module with `naive` run after it."""
        if naive not in self.namespaces:
            source = solution_source(self.topic)
            if self.local:
                namespace: dict[str, Any] = {"__name__": __name__}  # of a module that there is: a dataclass looks up its own
                for text in (source, naive):
                    exec(compile(text, "<rival>", "exec"), namespace)
                self.namespaces[naive] = LocalStudent(namespace, limits=LIMITS)
            else:
                cells = [Cell("reference", source), Cell("naive", naive)]
                earlier = earlier_sources(self.topic)
                self.namespaces[naive] = RemoteStudent(self.topic, cells, earlier, limits=LIMITS, parent=_rival_forkserver)
        rival = self.namespaces[naive]
        _ours.add(rival)
        rival.begin_check()
        return rival

    def spread(self, naive: str, draw: Draw, call: Call, agree: Agree) -> float:
        """Return the ratio of the naive version's time to the reference's, as the median of interleaved rounds.

        One round suffices if its ratio is at least CLEAR_SPREAD. A ratio below MIN_SPREAD is measured again by the next race.
        """
        key = f"{naive}\n{call.__module__}.{call.__qualname__}"
        measured, value = self.spreads.get(key, (-math.inf, 0.0))
        if time.monotonic() - measured > SPREAD_SECONDS:
            reference, slow, draws = self.get(""), self.get(naive), Draws(f"{self.topic}/spread")

            def ratio(flip: bool) -> float:
                try:
                    return _duel(slow, reference, draws.next(draw), call, agree, flip=flip)
                except CheckFailed as failed:
                    raise InfrastructureFault(f"a rival version is wrong: {failed}") from None

            value = ratio(True)
            if value < CLEAR_SPREAD:
                value = statistics.median(ratio(number % 2 == 1) for number in range(MIN_ROUNDS))
            if value >= MIN_SPREAD:
                self.spreads[key] = time.monotonic(), value
        return value

    def close(self) -> None:
        for rival in self.namespaces.values():
            if isinstance(rival, RemoteStudent):
                rival.close()


LIMITS = Limits(call_seconds=60.0, check_seconds=math.inf, submission_seconds=math.inf)
"""Limits of a rival, which is ours: a naive version may take its time."""
_ours: weakref.WeakSet[LocalStudent | RemoteStudent] = weakref.WeakSet()
"""All rivals of this process."""
_alone = threading.RLock()
"""Lock for one race at a time in this process."""


@functools.cache
def _rivals(topic: str, local: bool) -> Rivals:
    rivals = Rivals(topic, local)
    atexit.register(rivals.close)
    return rivals


_forkserver: ForkServer | None = None


def _rival_forkserver() -> ForkServer:
    """Return the rivals' own fork server. Their workers contain the solution, so no submission's worker may be their sibling."""
    global _forkserver
    if _forkserver is None or not _forkserver.alive:
        _forkserver = ForkServer(LIMITS, forkserver_pool.level())
        atexit.register(_forkserver.close)
    return _forkserver


def _timed(namespace: Any, work: Callable[[Any], Any]) -> tuple[Any, float]:
    """Return (value, processor seconds of the process that did the work). Raises InfrastructureFault for a rival's exception."""
    start = namespace.clock()
    try:
        value = work(namespace)
    except Exception as error:
        if namespace in _ours:
            raise InfrastructureFault(f"a rival version failed: {type(error).__name__}: {error}") from error
        raise
    return value, max(namespace.clock() - start, 1e-9)


def _duel(one: Any, reference: Any, inputs: Any, call: Call, agree: Agree, *, flip: bool = False) -> float:
    """Return the ratio of one version's processor time to the reference's for the same inputs, one directly after the other.

    flip: the reference goes second. Raises CheckFailed if the version's value is wrong.
    """
    work = functools.partial(call, inputs=inputs)
    done = {id(namespace): _timed(namespace, work) for namespace in ((one, reference) if flip else (reference, one))}
    (got, seconds), (wanted, reference_seconds) = done[id(one)], done[id(reference)]
    agree(inputs, got, wanted)
    return seconds / reference_seconds


def _doubling(short: int, long: int) -> list[int]:
    """Return short, twice that, and so on, up to long."""
    sizes = [short]
    while 2 * sizes[-1] < long:
        sizes.append(2 * sizes[-1])
    return [*sizes, long]


def _same(inputs: Any, got: Any, wanted: Any) -> None:
    """Raise CheckFailed if the two values differ: a fast wrong answer wins no race."""
    what = "the raced call gives another answer than the reference"
    if isinstance(wanted, Tensor) and wanted.is_floating_point():
        close(got, wanted, atol=1e-3, rtol=1e-3, what=what)
    else:
        equal(got, wanted, what=what)
