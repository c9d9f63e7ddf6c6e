"""The engine as a server drives it: requests come and go on the event loop, and the steps run in a thread of their own."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import torch

from course.kit.serving import SamplingParams, TokenOutput
from solutions.engine.backend import Choice
from solutions.engine.sampling import as_row, token_logprobs
from solutions.engine.sequence import Request
from solutions.engine.serving import NewToken

COLDEST = 1e-6
"""Below this temperature an answer is greedy: a logit divided by less would leave float32."""


class EngineCore:
    """A `Core` over the engine that `choose` has chosen. All of it belongs to the event loop's thread, but for what a step computes.

    While a step is under way, the scheduler is its own: who comes and who goes is written down, and takes effect when it has ended.
    An answer depends on its prompt, its parameters and its seed, and not on who is in the batch.
    salts: {id of a request that is about to be added: its salt}; requests with different ones do not share the cache.
    num_cached_tokens: of the prompts that have been read, so many tokens were found in memory.
    """

    def __init__(self, chosen: Choice, *, threads: int) -> None:
        """threads: those that torch computes a step with."""
        self.chosen, self._serving = chosen, chosen.serving
        self._requests: dict[str, Request] = {}
        self._ids: dict[Request, str] = {}
        self._asked: dict[str, SamplingParams] = {}
        self._arriving: list[str] = []
        self._leaving: list[str] = []
        self.salts: dict[str, bytes] = {}
        self.num_cached_tokens = 0
        self._step: asyncio.Future[list[tuple[NewToken, TokenOutput]]] | None = None
        # torch counts its threads for each thread that computes
        self._thread = ThreadPoolExecutor(1, "engine", initializer=torch.set_num_threads, initargs=(threads,))

    @property
    def num_waiting(self) -> int:
        return self._serving.num_waiting + len(self._arriving)

    @property
    def num_running(self) -> int:
        return self._serving.num_running

    @property
    def num_free_blocks(self) -> int:
        return self._serving.num_free_blocks

    @property
    def has_work(self) -> bool:
        """Whether somebody waits or runs, or a step is under way whose tokens nobody has yet."""
        return bool(self._requests or self._step)

    def add(self, request_id: str, prompt_ids: Sequence[int], params: SamplingParams) -> None:
        """Put a request at the end of the queue. Raises ValueError for an id that is open, and where it could never be served."""
        if request_id in self._requests:
            raise ValueError(f"request {request_id!r} is open already")
        longest, room = len(prompt_ids) + params.max_tokens - 1, self.chosen.max_len  # the last token is said, and not read
        if not prompt_ids or params.max_tokens < 1 or longest > room:
            raise ValueError(f"{len(prompt_ids)} tokens of prompt and {params.max_tokens} of answer: the engine reads 1 to {room}")
        generator = torch.Generator(self.chosen.device)
        generator.seed() if params.seed is None else generator.manual_seed(params.seed)
        request = Request(
            list(prompt_ids),
            params.max_tokens,
            eos_token_id=self.chosen.tokenizer.eos_token_id,
            temperature=params.temperature if params.temperature >= COLDEST else 0.0,
            top_p=params.top_p if params.top_p < 1 else None,
            generator=generator,
            salt=self.salts.pop(request_id, b""),
        )
        self._requests[request_id], self._ids[request], self._asked[request_id] = request, request_id, params
        self._arriving.append(request_id)
        self._settle()

    def abort(self, request_id: str) -> None:
        """Forget a request that waits or runs. Of one that has ended, or that nobody knows, nothing is left to forget."""
        if request_id in self._arriving:
            self._arriving.remove(request_id)
            self._forget(request_id)
        elif request_id in self._requests and request_id not in self._leaving:
            self._leaving.append(request_id)
            self._settle()

    async def step(self) -> list[TokenOutput]:
        """One step for all who run -> a token for each of them that has reached the end of its text. The loop serves others meanwhile.

        A step that is cancelled goes on in its thread; the next call waits for it, and gives its tokens. Where a step raises, those who
        ran are given up: what it was to write for them is not there.
        """
        if self._step is None:
            self._settle()
            if not self._requests:
                return []
            self._step = asyncio.get_running_loop().run_in_executor(self._thread, self._compute)
        try:
            made = await asyncio.shield(self._step)
        except asyncio.CancelledError:
            raise
        except BaseException:
            untouched = {*self._serving.scheduler.waiting, *(self._requests[request_id] for request_id in self._arriving)}
            given_up = [request for request in self._ids if request not in untouched]
            for request in given_up:
                if request in self._serving.scheduler.running:
                    self._serving.abort(request)
            self._end_step(given_up)
            raise
        self.num_cached_tokens += sum(new.request.num_cached or 0 for new, _ in made if len(new.request.output) == 1)
        self._end_step([new.request for new, _ in made if new.ended])
        return [output for _, output in made]

    def _end_step(self, ended: list[Request]) -> None:
        self._step = None
        for request in ended:
            self._forget(self._ids[request])
        self._settle()

    def close(self) -> None:
        """Ends the threads, the last step first. Nothing can be added any more."""
        self._thread.shutdown()
        self.chosen.close()

    def _compute(self) -> list[tuple[NewToken, TokenOutput]]:
        """In the thread: a step, and what the model thought of each token. Who is with the scheduler stays known while it goes on."""
        outputs = []
        for new in self._serving.step():
            request_id = self._ids[new.request]
            logprob, best = token_logprobs(as_row(new.logits), new.token, self._asked[request_id].logprobs or 0)
            outputs.append((new, TokenOutput(request_id, new.token, logprob, best)))
        return outputs

    def _settle(self) -> None:
        """Lets go of those who leave, and lets in those who have come, unless a step is under way."""
        if self._step is not None:
            return
        for request_id in self._leaving:
            if request_id in self._requests:  # it may have ended in the step
                self._serving.abort(self._requests[request_id])
                self._forget(request_id)
        for request_id in self._arriving:
            self._serving.add(self._requests[request_id])
        self._leaving, self._arriving = [], []

    def _forget(self, request_id: str) -> None:
        del self._asked[request_id]
        del self._ids[self._requests.pop(request_id)]
