"""The capstone's starting point: an engine that is right and slow. It is complete; what is to be found is a faster one."""

from __future__ import annotations

import torch

from course.kit import WeightsOnly
from solutions.kv_cache import KVCache, decode_step, prefill


class CapstoneEngine:
    """Greedy engine: `add` and `abort` requests between two steps, and call `step` while `has_work`. Make it fast.

    These rules hold for every engine, whatever is inside:

    - A request gets exactly max_tokens tokens, each the most probable one after its prompt and its tokens so far (argmax of the model's
      logits). An EOS ends nothing. If the logits of two tokens are within rounding of each other, either will do.
    - `step()` returns the new tokens as a list of (request_id, token_id), those of one request in the order of its text; none, one or
      several of a request. At most max_running requests get tokens in one step. A step may give no token at all.
    - `abort(request_id)` forgets a waiting or running request: no later step gives a token of it. For a request that has ended, or an
      unknown one, it does nothing and raises nothing.
    - `has_work` is true while a request is open that has not got all its tokens.
    - Keys and values, of open requests and of any that are cached for later ones, take at most cache_bytes. More requests may be open
      than fit: they wait. One request by itself always fits.
    - The model is a `WeightsOnly`: `.config`, `.weights`, `.dtype`. It is not changed. One model may serve several engines, one after
      the other; a new engine begins with nothing of the one before.

    This one serves one request after another, each with a KV cache of its own (Day 10): first come, first served.
    """

    def __init__(self, model: WeightsOnly, *, max_running: int, cache_bytes: int) -> None:
        """Create an engine without requests; prompts arrive later, with `add`.

        max_running: requests that may get tokens in one step. cache_bytes: limit for keys and values.
        """
        self.model = model
        self.max_running, self.cache_bytes = max_running, cache_bytes
        self.queue: list[tuple[str, list[int], int]] = []
        self.cache: KVCache | None = None
        self.output: list[int] = []

    @property
    def has_work(self) -> bool:
        """True while a request waits or runs."""
        return bool(self.queue)

    def add(self, request_id: str, prompt_ids: list[int], max_tokens: int) -> None:
        """Add a request. prompt_ids: one token at least. max_tokens: 1 at least. request_id: not that of an open request."""
        self.queue.append((request_id, prompt_ids, max_tokens))

    def abort(self, request_id: str) -> None:
        """Forget a request, if it is open."""
        if self.queue and self.queue[0][0] == request_id:
            self.cache, self.output = None, []
        self.queue = [request for request in self.queue if request[0] != request_id]

    def step(self) -> list[tuple[str, int]]:
        """Make the next token of the request whose turn it is -> [(request_id, token_id)]; [] without work."""
        if not self.queue:
            return []
        request_id, prompt_ids, max_tokens = self.queue[0]
        if self.cache is None:
            self.cache = KVCache(self.model.config, 1, len(prompt_ids) + max_tokens, self.model.dtype)
            logits = prefill(self.model, torch.tensor([prompt_ids]), self.cache)
        else:
            logits = decode_step(self.model, torch.tensor([self.output[-1:]]), self.cache)
        token = int(logits[0].argmax())
        self.output.append(token)
        if len(self.output) == max_tokens:
            self.queue.pop(0)
            self.cache, self.output = None, []
        return [(request_id, token)]
