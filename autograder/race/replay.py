"""The replay of a race's requests to an engine in a worker. Time and memory are read from outside.

The clock is the worker's processor time, summed over its threads, and jumps over times without open requests. A token's time is the end
of the `step` that returned the token.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from solutions.latency import Trace

from ..sandbox.process.remote_student import Named, RemoteStudent
from .traffic import Asked
from .validate import Disqualified

SETUP_SECONDS = 20.0
"""The limit in processor seconds from the worker's beginning, or the end of the run before, until a new engine accepts requests."""
SLACK_BYTES = 32 * 1024**2
"""The bytes that a worker with tiny may grow by besides the cache: copies of weights, buffers, memory that the allocator holds back."""


class Racer(RemoteStudent):
    """A worker with an engine's cells in it.

    ended: the worker's clock at the end of the last run; the time that it uses after that is set-up. baseline: the memory in bytes that
    counts as used before a run, measured on an idle worker. With None, for the course's own cells, it is this worker's memory when a run
    begins.
    """

    ended = 0.0
    baseline: int | None = None

    def close(self) -> None:
        super().close()
        self.ended = 0.0

    def load(self, name: str, dtype: torch.dtype) -> Named:
        """Load a model in the worker before a run, so its bytes do not count as the engine's."""
        model = self.model(name, dtype=dtype)
        self._session.ask("gradients", on=None, load=model)
        return model

    def defined(self, *names: str) -> list[str]:
        """Return the names among `names` that the cells have defined."""
        return list(self._session.ask("defined", names=list(names)))

    def bytes_at_first(self, name: str, *dtypes: torch.dtype) -> int:
        """Return the worker's bytes when it has loaded only its cells and a model, the model once in each of these dtypes."""
        for dtype in dtypes:
            self.load(name, dtype)
        return self.own_bytes()

    def own_bytes(self) -> int:
        """Return the worker's own memory in bytes, without mapped files. 0 if the system does not report it."""
        try:
            status = Path(f"/proc/{self._session.pid}/status").read_text(encoding="ascii")
        except OSError:
            return 0
        sizes = [line.split()[1] for line in status.splitlines() if line.startswith(("RssAnon:", "RssShmem:"))]
        return 1024 * sum(map(int, sizes))


@dataclass
class Played:
    """The result of a list of requests.

    tokens: each request's tokens in the order returned. times: the clock at each of these tokens, in seconds. seconds: the clock at the
    end. setup_seconds: the processor seconds of set-up. grown_bytes: the largest growth of the worker's own memory.
    """

    asked: Sequence[Asked]
    tokens: dict[str, list[int]] = field(default_factory=dict)
    times: dict[str, list[float]] = field(default_factory=dict)
    seconds: float = 0.0
    setup_seconds: float = 0.0
    grown_bytes: int = 0

    @property
    def traces(self) -> list[Trace | None]:
        """Return the trace of each request, in order; None for a request that did not get all its tokens."""
        return [
            Trace(each.arrival, self.times[each.request_id]) if len(self.times.get(each.request_id, [])) == each.max_tokens else None
            for each in self.asked
        ]

    def kept(self, ttft: float, itl: float) -> int:
        """Return the total tokens of the requests that got all of them within both promises."""
        kept = [each for each in self.traces if each is not None and each.ttft <= ttft and all(gap <= itl for gap in each.itl)]
        return sum(len(each.token_times) for each in kept)


def play(racer: Racer, asked: Sequence[Asked], **how: Any) -> Played:
    """Play one `game` to its end."""
    return side_by_side([game(racer, asked, **how)])[0]


def side_by_side(games: list[Generator[float, None, Played]]) -> list[Played]:
    """Play the games step by step, always the game with the earliest clock, so a slow phase of the machine slows all of them."""
    clocks = dict.fromkeys(range(len(games)), 0.0)
    done: dict[int, Played] = {}
    while clocks:
        number = min(clocks, key=clocks.__getitem__)
        try:
            clocks[number] = next(games[number])
        except StopIteration as end:
            done[number] = end.value
            del clocks[number]
    return [done[number] for number in range(len(games))]


def game(
    racer: Racer,
    asked: Sequence[Asked],
    *,
    model: str = "tiny",
    dtype: torch.dtype = torch.float32,
    max_running: int,
    cache_bytes: int,
    slack_bytes: int = SLACK_BYTES,
    aborts: dict[int, list[str]] | None = None,
) -> Generator[float, None, Played]:
    """Start a new engine and play these requests at their arrivals. Yield the clock after each step; return the outcome.

    aborts: {number of a step, from 0: requests aborted before it}. Raises Disqualified and the engine's own exceptions.
    """
    played = Played(asked)
    engine, memory = _new_engine(racer, model, dtype, max_running, cache_bytes)
    add, abort, step = engine.add, engine.abort, engine.step
    clock = Clock(racer)
    played.setup_seconds = _setup_seconds(racer, clock)
    number = 0
    pending = sorted(asked, key=lambda each: each.arrival)
    open_: dict[str, Asked] = {}
    while pending or open_:
        now = clock.now() if open_ else clock.now_or_jump(pending[0].arrival)
        _add_arrived(pending, open_, add, now)
        for request_id in (aborts or {}).get(number, []):
            open_.pop(request_id, None)
            abort(request_id)
        new = step()
        now = clock.now()
        _take(new, played, open_, now, max_running)
        _note_growth(played, racer.own_bytes() - memory, cache_bytes, slack_bytes)
        if not new and open_ and not engine.has_work:
            open_.clear()  # they will never be served
        number += 1
        yield now
    played.seconds = clock.end()
    _dismiss(racer, engine, add, abort, step)
    return played


class Clock:
    """A run's clock: the worker's processor seconds since the run began, plus a jump over each period without open requests."""

    def __init__(self, racer: Racer) -> None:
        self.racer, self.start, self.jumped = racer, racer.clock(), 0.0

    def now(self) -> float:
        return self.racer.clock() - self.start + self.jumped

    def now_or_jump(self, arrival: float) -> float:
        """Jump to `arrival` if it is in the future, and return the time."""
        now = self.now()
        if arrival > now:
            self.jumped += arrival - now
            return arrival
        return now

    def end(self) -> float:
        """Record the end of the run in the racer, and return the time."""
        self.racer.ended = self.racer.clock()
        return self.racer.ended - self.start + self.jumped


def _new_engine(racer: Racer, model: str, dtype: torch.dtype, max_running: int, cache_bytes: int) -> tuple[Any, int]:
    """Return a new engine and the bytes that count as the worker's memory before it."""
    racer.begin_check()
    loaded = racer.load(model, dtype)
    memory = racer.own_bytes() if racer.baseline is None else racer.baseline
    return racer.CapstoneEngine(loaded, max_running=max_running, cache_bytes=cache_bytes), memory


def _setup_seconds(racer: Racer, clock: Clock) -> float:
    """Return the processor seconds between the previous run and this one. Raises Disqualified above SETUP_SECONDS."""
    seconds = clock.start - racer.ended
    if seconds > SETUP_SECONDS:
        raise Disqualified(f"set-up took {seconds:.1f} s of processor time, more than {SETUP_SECONDS:g}")
    return seconds


def _add_arrived(pending: list[Asked], open_: dict[str, Asked], add: Any, now: float) -> None:
    """Add the requests that have arrived to the engine, and move them from `pending` to `open_`."""
    while pending and pending[0].arrival <= now:
        each = pending.pop(0)
        open_[each.request_id] = each
        add(each.request_id, each.prompt, each.max_tokens)


def _note_growth(played: Played, grown_bytes: int, cache_bytes: int, slack_bytes: int) -> None:
    """Record the worker's memory growth. Raises Disqualified if it is more than cache and slack together."""
    played.grown_bytes = max(played.grown_bytes, grown_bytes)
    if played.grown_bytes > cache_bytes + slack_bytes:
        grown = f"the worker's memory grew by {played.grown_bytes:,} bytes"
        raise Disqualified(f"{grown}, more than {cache_bytes:,} for keys and values and {slack_bytes:,} for everything else")


def _dismiss(racer: Racer, engine: Any, *methods: Any) -> None:
    """Forget an engine and its methods. Raises Disqualified if the engine still has work."""
    if engine.has_work:
        raise Disqualified("has_work is true though every request has ended or was aborted")
    for thing in (engine, *methods):
        racer.forget(thing)


def _take(new: Any, played: Played, open_: dict[str, Asked], now: float, max_running: int) -> None:
    """Store the tokens that a step returned, with the time. Raises Disqualified for a token that belongs to no open request."""
    if not isinstance(new, list):
        raise Disqualified(f"step returned {type(new).__name__} instead of a list of (request_id, token_id)")
    advanced: dict[str, Asked] = {}
    for pair in new:
        match pair:
            case (str(request_id), int(token)) if not isinstance(token, bool):
                pass
            case _:
                raise Disqualified(f"step returned {ascii(pair)[:60]} instead of (request_id, token_id)")
        each = open_.get(request_id) or advanced.get(request_id)
        tokens = played.tokens.setdefault(request_id, [])
        if each is None or len(tokens) == each.max_tokens:
            raise Disqualified(f"step returned a token of request {ascii(request_id)[:60]}, which is unknown, complete or aborted")
        advanced[request_id] = each
        tokens.append(token)
        played.times.setdefault(request_id, []).append(now)
        if len(tokens) == each.max_tokens:
            del open_[request_id]
    if len(advanced) > max_running:
        raise Disqualified(f"a step returned tokens of {len(advanced)} requests, but max_running is {max_running}")
