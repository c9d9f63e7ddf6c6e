"""The conditions that an engine must meet before it may race: four parts, a point each, on tiny in float64."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch

from course.kit import Model, load_model

from ..sandbox.protocol.worker_errors import StudentRaised, WorkerDied
from .replay import SLACK_BYTES, Racer, play
from .traffic import Asked, Draw
from .validate import Disqualified, hold_against

PREFIX_TOKENS = 48
LEAD = 1e-6
"""The `LEAD` of `validate.py` for an engine that computes in float64, too."""
TOKEN_BYTES = 2 * 5 * 2 * 32 * 8
"""The bytes of a token's keys and values: tiny has 5 layers and 2 key/value heads of width 32, in float64."""
TITLES = (
    "one request after another", "many at a time, with shared prefixes", "requests that are aborted", "more than the cache holds",
)  # fmt: skip


@dataclass(frozen=True)
class Part:
    """One part of the test whether an engine is right. fault: None, or the error in one line."""

    title: str
    fault: str | None

    @property
    def points(self) -> int:
        return int(self.fault is None)


def judge(racer: Racer, seed: int) -> list[Part]:
    """Judge all four parts, in order, each with a new engine."""
    model = load_model("tiny", dtype=torch.float64)
    parts: tuple[Callable[[Racer, Model, Draw], None], ...] = (alone, together, aborted, crowded)
    return [Part(title, _fault(part, racer, model, Draw(seed, title))) for title, part in zip(TITLES, parts, strict=True)]


def fault_of(error: Exception) -> str:
    """Return one line about an engine's error."""
    if isinstance(error, StudentRaised):
        lines = f" ({error.lines[-1]})" if error.lines else ""
        return f"{error.names[0] if error.names else 'an error'}: {str(error)[:200]}{lines}".replace("\n", " ")
    return str(error)


def _fault(part: Callable[[Racer, Model, Draw], None], racer: Racer, model: Model, draw: Draw) -> str | None:
    try:
        part(racer, model, draw)
    except (Disqualified, StudentRaised, WorkerDied) as error:
        return fault_of(error)
    return None


def alone(racer: Racer, model: Model, draw: Draw) -> None:
    """Play short and long prompts with short and long answers one after the other; the clock jumps between them."""
    prompts = [draw.integers(0, 1023, length) for length in (1, 2, 15, 16, 17, 40, 130)]
    asked = [Asked(f"alone {n}", prompt, (1, 2, 16, 17)[n % 4], 1000.0 * n) for n, prompt in enumerate(prompts)]
    _right(racer, model, asked, max_running=4, room=400)


def together(racer: Racer, model: Model, draw: Draw) -> None:
    """Play prompts that share all, some or none of their tokens and arrive while others run."""
    prefix = draw.integers(0, 1023, PREFIX_TOKENS)
    prompts = [prefix + draw.integers(0, 1023, length) for length in (0, 0, 1, 7, 16, 20)]
    prompts += [prefix[:20] + draw.integers(0, 1023, 30), prefix[:-1], prefix[1:], draw.integers(0, 1023, 3)]
    answers = draw.integers(1, 24, len(prompts))
    asked = [Asked(f"together {n}", prompt, answers[n]) for n, prompt in enumerate(prompts)]
    late = [replace(each, request_id=f"late {n}", arrival=0.01 * (n + 1)) for n, each in enumerate(asked[:6])]
    _right(racer, model, [*asked, *late], max_running=4, room=800)


def aborted(racer: Racer, model: Model, draw: Draw) -> None:
    """Abort waiting, running, ended and unknown requests, and the twin of a running one; all others must get their tokens."""
    prefix = draw.integers(0, 1023, PREFIX_TOKENS)
    prompts = [prefix + draw.integers(0, 1023, length) for length in (5, 5, 30, 1, 12, 9, 2, 18)]
    prompts[1] = prompts[0]
    asked = [Asked(f"aborted {n}", prompt, 12 + n) for n, prompt in enumerate(prompts)]
    aborts = {1: ["aborted 0"], 2: ["aborted 6", "nobody"], 4: ["aborted 3", "aborted 0"], 9: ["aborted 4"]}
    _right(racer, model, asked, max_running=3, room=400, aborts=aborts)


def crowded(racer: Racer, model: Model, draw: Draw) -> None:
    """Play many more texts than the cache has room for. Blocks that are never freed then show in the worker's memory."""
    count = 2 * (SLACK_BYTES // (TOKEN_BYTES * 320))
    lengths = draw.integers(250, 300, count)
    asked = [Asked(f"crowded {n}", draw.integers(0, 1023, length), 8) for n, length in enumerate(lengths)]
    played = play(racer, asked, dtype=torch.float64, max_running=8, cache_bytes=3 * 320 * TOKEN_BYTES)
    _whole(played.asked, played.tokens)
    for each in (*range(0, count, 5), count - 1):
        hold_against(model, replace(played, asked=[asked[each]]), LEAD)


def _right(
    racer: Racer, model: Model, asked: list[Asked], *, max_running: int, room: int, aborts: dict[int, list[str]] | None = None
) -> None:
    """Play requests with a cache for `room` tokens. Raises Disqualified unless all tokens are returned and right."""
    played = play(racer, asked, dtype=torch.float64, max_running=max_running, cache_bytes=room * TOKEN_BYTES, aborts=aborts)
    left = {request_id for step in (aborts or {}).values() for request_id in step}
    _whole([each for each in asked if each.request_id not in left], played.tokens)
    hold_against(model, played, LEAD)


def _whole(asked: Sequence[Asked], tokens: dict[str, list[int]]) -> None:
    for each in asked:
        got = len(tokens.get(each.request_id, []))
        if got != each.max_tokens:
            raise Disqualified(f"{each.request_id} asked for {each.max_tokens} tokens and got {got} when has_work was false")
