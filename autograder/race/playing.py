"""Plays requests to an engine in a worker. Time and memory are read from outside.

The clock is the worker's processor time, all its threads together, and jumps over what nobody waits in. A token's time is when `step`
has handed it over.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from solutions.latency import Trace

from ..sandbox.process.far import Far, Named
from .holding import Lost
from .traffic import Asked

SETUP_SECONDS = 20.0
"""Processor seconds from the worker's beginning, or the end of the run before, until a new engine can be asked."""
SLACK_BYTES = 32 * 1024**2
"""What a worker with tiny may grow by besides the cache: copies of weights, buffers, what the allocator holds back."""


class Racer(Far):
    """A worker with an engine's cells in it.

    ended: its clock when the last run ended; what it uses from then on is set-up. baseline: the bytes that a worker has before it has
    done anything; None: what this one has when a run begins, which is for cells that are ours.
    """

    ended = 0.0
    baseline: int | None = None

    def close(self) -> None:
        super().close()
        self.ended = 0.0

    def load(self, name: str, dtype: torch.dtype) -> Named:
        """A model, loaded there already: its bytes are nobody's."""
        model = self.model(name, dtype=dtype)
        self._line.ask("gradients", on=None, load=model)
        return model

    def defined(self, *names: str) -> list[str]:
        """Which of these names the cells have defined."""
        return list(self._line.ask("defined", names=list(names)))

    def bytes_at_first(self, name: str, *dtypes: torch.dtype) -> int:
        """What it has with nothing but its cells and a model, in each of these dtypes."""
        for dtype in dtypes:
            self.load(name, dtype)
        return self.own_bytes()

    def own_bytes(self) -> int:
        """Memory of the worker's own, without files that it has mapped. 0 where the system does not tell."""
        try:
            status = Path(f"/proc/{self._line.pid}/status").read_text(encoding="ascii")
        except OSError:
            return 0
        sizes = [line.split()[1] for line in status.splitlines() if line.startswith(("RssAnon:", "RssShmem:"))]
        return 1024 * sum(map(int, sizes))


@dataclass
class Played:
    """What came of a list of requests. tokens and times: of each request, as handed over; times in seconds of the clock.

    seconds: the clock at the end. setup_seconds: of processor time. grown_bytes: the most by which the worker's own memory grew.
    """

    asked: Sequence[Asked]
    tokens: dict[str, list[int]] = field(default_factory=dict)
    times: dict[str, list[float]] = field(default_factory=dict)
    seconds: float = 0.0
    setup_seconds: float = 0.0
    grown_bytes: int = 0

    @property
    def traces(self) -> list[Trace | None]:
        """Of each request, in order; None of one that did not get all its tokens."""
        return [
            Trace(each.arrival, self.times[each.request_id]) if len(self.times.get(each.request_id, [])) == each.max_tokens else None
            for each in self.asked
        ]

    def kept(self, ttft: float, itl: float) -> int:
        """Tokens of the requests that were whole, and kept both promises."""
        kept = [each for each in self.traces if each is not None and each.ttft <= ttft and all(gap <= itl for gap in each.itl)]
        return sum(len(each.token_times) for each in kept)


def play(racer: Racer, asked: Sequence[Asked], **how: Any) -> Played:
    """`game`, from its beginning to its end."""
    return side_by_side([game(racer, asked, **how)])[0]


def side_by_side(games: list[Generator[float, None, Played]]) -> list[Played]:
    """Plays them step by step, always the one whose clock is behind: a machine that is slow for a while is slow for all of them."""
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
    """A new engine, and these requests at their arrivals: its clock after each step, and at the end what came of it.

    aborts: {number of a step, from 0: who is aborted before it}. Raises Lost, and what the engine raises.
    """
    racer.begin_check()
    played = Played(asked)
    loaded = racer.load(model, dtype)
    memory = racer.own_bytes() if racer.baseline is None else racer.baseline
    engine = racer.CapstoneEngine(loaded, max_running=max_running, cache_bytes=cache_bytes)
    add, abort, step = engine.add, engine.abort, engine.step
    start = racer.clock()
    played.setup_seconds = start - racer.ended
    if played.setup_seconds > SETUP_SECONDS:
        raise Lost(f"set-up took {played.setup_seconds:.1f} s of processor time, allowed are {SETUP_SECONDS:g}")
    allowed = cache_bytes + slack_bytes
    jumped, number = 0.0, 0
    pending = sorted(asked, key=lambda each: each.arrival)
    open_: dict[str, Asked] = {}
    while pending or open_:
        now = racer.clock() - start + jumped
        if not open_ and pending[0].arrival > now:
            jumped += pending[0].arrival - now
            now = pending[0].arrival
        while pending and pending[0].arrival <= now:
            each = pending.pop(0)
            open_[each.request_id] = each
            add(each.request_id, each.prompt, each.max_tokens)
        for request_id in (aborts or {}).get(number, []):
            open_.pop(request_id, None)
            abort(request_id)
        new = step()
        now = racer.clock() - start + jumped
        _take(new, played, open_, now, max_running)
        played.grown_bytes = max(played.grown_bytes, racer.own_bytes() - memory)
        if played.grown_bytes > allowed:
            grown = f"the worker's memory grew by {played.grown_bytes:,} bytes"
            raise Lost(f"{grown}, allowed are {cache_bytes:,} for keys and values and {slack_bytes:,} beside them")
        if not new and open_ and not engine.has_work:
            open_.clear()  # they will never be served
        number += 1
        yield now
    racer.ended = racer.clock()
    played.seconds = racer.ended - start + jumped
    if engine.has_work:
        raise Lost("has_work is true though every request has ended or was aborted")
    for thing in (engine, add, abort, step):
        racer.forget(thing)
    return played


def _take(new: Any, played: Played, open_: dict[str, Asked], now: float, max_running: int) -> None:
    """Stamps what a step has handed over. Raises Lost for what nobody is due."""
    if not isinstance(new, list):
        raise Lost(f"step gave no list of (request_id, token_id) but {type(new).__name__}")
    due: dict[str, Asked] = {}
    for pair in new:
        match pair:
            case (str(request_id), int(token)) if not isinstance(token, bool):
                pass
            case _:
                raise Lost(f"step gave {ascii(pair)[:60]} where (request_id, token_id) was due")
        each = open_.get(request_id) or due.get(request_id)
        tokens = played.tokens.setdefault(request_id, [])
        if each is None or len(tokens) == each.max_tokens:
            raise Lost(f"step gave a token of {ascii(request_id)[:60]}, which is not open: not there, complete, or aborted")
        due[request_id] = each
        tokens.append(token)
        played.times.setdefault(request_id, []).append(now)
        if len(tokens) == each.max_tokens:
            del open_[request_id]
    if len(due) > max_running:
        raise Lost(f"a step gave tokens of {len(due)} requests, max_running is {max_running}")
