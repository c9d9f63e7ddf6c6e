"""The course's engine behind the capstone's interface: the opponent in a race."""

from __future__ import annotations

from course.kit import WeightsOnly
from solutions.engine.packed import PackedModel
from solutions.engine.sequence import Request
from solutions.engine.serving import Failure, ServingEngine

BLOCK_SIZE = 16


class CapstoneEngine:
    """A `ServingEngine` that meets the contract of `solutions.capstone.CapstoneEngine`.

    It has paged memory, shared prefixes and continuous batching.
    """

    def __init__(self, model: WeightsOnly, *, max_running: int, cache_bytes: int) -> None:
        config = model.config
        token_bytes = 2 * config.num_hidden_layers * config.num_key_value_heads * config.head_dim * model.dtype.itemsize
        # Timing could find another way of multiplying in the next process; oneDNN's would keep a kernel for every number of rows.
        packed = PackedModel(model, way="linear")
        num_blocks = cache_bytes // (BLOCK_SIZE * token_bytes)
        # A small budget: nobody's gap is long because another's prompt is.
        budget = max(64, max_running)
        self._serving = ServingEngine(packed, num_blocks=num_blocks, block_size=BLOCK_SIZE, token_budget=budget, max_running=max_running)
        self._requests: dict[str, Request] = {}
        self._ids: dict[Request, str] = {}

    @property
    def has_work(self) -> bool:
        return self._serving.has_work

    def add(self, request_id: str, prompt_ids: list[int], max_tokens: int) -> None:
        request = self._requests[request_id] = Request(prompt_ids, max_tokens)
        self._ids[request] = request_id
        self._serving.add(request)

    def abort(self, request_id: str) -> None:
        if request_id in self._requests:
            request = self._requests.pop(request_id)
            del self._ids[request]
            self._serving.abort(request)

    def step(self) -> list[tuple[str, int]]:
        tokens = []
        for new in self._serving.step():
            if isinstance(new, Failure):
                raise new.error
            request_id = self._ids[new.request]
            tokens.append((request_id, new.token))
            if new.ended:
                del self._requests[request_id], self._ids[new.request]
        return tokens
