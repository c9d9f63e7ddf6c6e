"""The engine as a server drives it: requests come and go on the event loop, and the steps run in a thread of their own."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import torch

from course.kit.serving import SamplingParams, TokenOutput
from course.kit.serving.core import FailedOutput, Report
from course.kit.serving.extras import Extras
from solutions.engine.backend import Choice
from solutions.engine.sampling import as_row, token_logprobs
from solutions.engine.sequence import Request
from solutions.engine.serving import Failure, NewToken

COLDEST = 1e-6
"""Lowest temperature at which an answer is drawn.

An answer at a lower one is greedy, because a draw would almost always be the most probable token.
"""


class EngineCore:
    """A `Core` over the engine that `choose` has chosen.

    Only the computation of a step runs outside the event loop's thread. While a step is running, the scheduler belongs to that step:
    additions and aborts are recorded and take effect after the step. An answer depends on its prompt, its parameters and its seed, and not
    on the other requests in the batch.

    extras: {id of a request that is about to be added: its settings besides SamplingParams}. reports: {id of a request that is about to be
    added: the object to be filled in before the request's first token is returned}. num_cached_tokens: the number of prompt tokens so far
    that were found in the cache.
    """

    def __init__(self, chosen: Choice, *, threads: int) -> None:
        """Start the thread that computes the steps. threads: the number of threads that torch uses in a step."""
        self.chosen, self._serving = chosen, chosen.serving
        self._requests: dict[str, Request] = {}
        self._ids: dict[Request, str] = {}
        self._asked: dict[str, SamplingParams] = {}
        self._arriving: list[str] = []
        self._leaving: list[str] = []
        self.extras: dict[str, Extras] = {}
        self.reports: dict[str, Report] = {}
        self._reported: dict[Request, Report] = {}
        self.num_cached_tokens = 0
        self._step: asyncio.Future[list[tuple[NewToken | Failure, TokenOutput]]] | None = None
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
        """Return True if a request waits or runs, or if a running step has not returned its tokens yet."""
        return bool(self._requests or self._step)

    def add(self, request_id: str, prompt_ids: Sequence[int], params: SamplingParams) -> None:
        """Put a request at the end of the queue.

        Raises ValueError for the id of an open request, and for a request that could never be served.
        """
        if request_id in self._requests:
            raise ValueError(f"request {request_id!r} is open already")
        longest, room = len(prompt_ids) + params.max_tokens - 1, self.chosen.max_len  # the last token is said, and not read
        if not prompt_ids or params.max_tokens < 1 or longest > room:
            raise ValueError(f"{len(prompt_ids)} tokens of prompt and {params.max_tokens} of answer: the engine reads 1 to {room} in all")
        extras, report = self.extras.pop(request_id, Extras()), self.reports.pop(request_id, Report())
        generator = torch.Generator(self.chosen.device)
        generator.seed() if params.seed is None else generator.manual_seed(params.seed)
        eos = self.chosen.tokenizer.eos_token_id
        request = Request(
            list(prompt_ids),
            params.max_tokens,
            eos_token_id=None if extras.ignore_eos else eos,
            temperature=params.temperature if params.temperature >= COLDEST else 0.0,
            top_p=params.top_p if params.top_p < 1 else None,
            generator=generator,
            top_k=extras.top_k,
            min_p=extras.min_p or None,
            typical_p=extras.typical_p if extras.typical_p < 1 else None,
            repetition_penalty=extras.repetition_penalty,
            presence_penalty=extras.presence_penalty,
            frequency_penalty=extras.frequency_penalty,
            logit_bias=extras.logit_bias,
            stop_token_ids=extras.stop_token_ids,
            min_tokens=extras.min_tokens,
            late_token_ids=extras.stop_token_ids if eos is None else (eos, *extras.stop_token_ids),
            salt=extras.salt,
            prompt_top=report.prompt_top,
        )
        self._requests[request_id], self._ids[request], self._asked[request_id] = request, request_id, params
        self._reported[request] = report
        self._arriving.append(request_id)
        self._settle()

    def abort(self, request_id: str) -> None:
        """Forget a request that waits or runs. Do nothing for a request that has ended or is unknown."""
        if request_id in self._arriving:
            self._arriving.remove(request_id)
            self._forget(request_id)
        elif request_id in self._requests and request_id not in self._leaving:
            self._leaving.append(request_id)
            self._settle()

    async def step(self) -> list[TokenOutput]:
        """Run one step for all running requests, and return a token for each request whose whole text has been read.

        The event loop runs other tasks meanwhile. A cancelled step continues in its thread; the next call waits for that step and returns
        its tokens. A request whose logits are not a distribution ends with an output that has an error, and the other requests go on. If a
        step raises, the running requests are given up, because the step did not write their keys and values.
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
        tokens = [new for new, _ in made if isinstance(new, NewToken)]
        for request in (new.request for new in tokens if len(new.request.output) == 1):
            report = self._reported[request]
            report.num_cached, report.prompt = request.num_cached, request.prompt_logprobs
            self.num_cached_tokens += request.num_cached or 0
        self._end_step([new.request for new, _ in made if isinstance(new, Failure) or new.ended])
        return [output for _, output in made]

    def _end_step(self, ended: list[Request]) -> None:
        self._step = None
        for request in ended:
            self._forget(self._ids[request])
        self._settle()

    def close(self) -> None:
        """End the threads after the last step. No request can be added afterwards."""
        self._thread.shutdown()
        self.chosen.close()

    def _compute(self) -> list[tuple[NewToken | Failure, TokenOutput]]:
        """Run a step in the worker thread, and return its tokens with their log-probabilities.

        While this runs, no request of the scheduler is removed.
        """
        outputs: list[tuple[NewToken | Failure, TokenOutput]] = []
        for new in self._serving.step():
            request_id = self._ids[new.request]
            if isinstance(new, Failure):
                outputs.append((new, FailedOutput(request_id, -1, error=new.error)))
                continue
            logprob, best = token_logprobs(as_row(new.logits), new.token, self._asked[request_id].logprobs or 0)
            outputs.append((new, TokenOutput(request_id, new.token, logprob, best)))
        return outputs

    def _settle(self) -> None:
        """Remove the aborted requests and add the new ones, unless a step is running."""
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
        request = self._requests.pop(request_id)
        del self._asked[request_id], self._ids[request], self._reported[request]
