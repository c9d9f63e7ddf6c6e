"""Serving: one model, many clients. Answers go out token by token, and a client that leaves stops costing anything."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor

from course.kit import Tokenizer
from course.kit.serving import Core, RequestError, SamplingParams, TokenOutput
from solutions.latency import Trace
from solutions.softmax import log_softmax
from solutions.steering import StopStrings
from solutions.tokenizer import StreamDecoder


def sse_event(data: dict[str, Any] | str) -> bytes:
    """Return one server-sent event: each line of the text after "data: ", and an empty line after them.

    A dict is sent as JSON on one line, characters as they are and not escaped; a string as it is, cut at every newline and nowhere else
    (it holds no carriage return). UTF-8. WHATWG HTML, section 9.2.
    """
    ### BEGIN SOLUTION
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    lines = [f"data: {line}\n" for line in text.split("\n")]
    return "".join(lines).encode() + b"\n"
    ### END SOLUTION


class SSEParser:
    """Parser of server-sent events from bytes that arrive in pieces, cut anywhere: inside a character, between carriage return and newline.

    A line ends with a newline, with or without a carriage return before it. The rest of a line that begins with "data:" belongs to the
    event's data; one space right after the colon is dropped. An empty line ends the event. Comments (": ping") and all other fields are
    skipped, also a line "data" without a colon. A carriage return inside a line and a byte order mark inside the data belong to the data.
    """

    def __init__(self) -> None:
        ### BEGIN SOLUTION
        self.line = b""  # the one that has no newline yet
        self.data: list[bytes] = []  # of the event that has no empty line yet
        ### END SOLUTION

    def push(self, piece: bytes) -> list[str]:
        """Return the data of every event that this piece completes, in order: its data lines, joined by newlines.

        Events without a data line are skipped. The work is in proportion to the pieces, however many came before: data that has been
        returned is not looked at again.
        """
        ### BEGIN SOLUTION
        *lines, self.line = (self.line + piece).split(b"\n")
        events = []
        for line in lines:
            line = line.removesuffix(b"\r")
            if line.startswith(b"data:"):
                self.data.append(line.removeprefix(b"data:").removeprefix(b" "))
            elif not line and self.data:
                events.append(b"\n".join(self.data).decode())
                self.data = []
        return events
        ### END SOLUTION


def parse_params(body: dict[str, Any], *, chat: bool, room: int) -> SamplingParams:
    """Return what a request asks for, checked.

    body: the client's JSON object; chat: true for /v1/chat/completions, false for /v1/completions; room: how many tokens the prompt
    leaves in the model's context. A field that is missing or null has its default; unknown fields, and those of the other kind of
    request, are ignored. Otherwise:

    - max_tokens: a whole number, 1 to `room`; by default 16, in a chat `room`. In a chat, max_completion_tokens takes precedence:
      max_tokens is ignored then.
    - temperature: a number, 0 to 2, by default 1. top_p: a number above 0, at most 1, by default 1. NaN is not allowed.
    - seed: a whole number from -2**63 to 2**63 - 1, by default None. n: 1.
    - stop: a string, or a list of 1 to 4 strings, none of them empty (a newline is not empty), by default () -> a tuple of them as given.
    - logprobs: a whole number, 0 to 5, by default None. In a chat it is true or false, and if it is true params.logprobs is top_logprobs:
      a whole number, 0 to 20, by default 0. Another top_logprobs is refused, also if logprobs is false.
    - stream: true or false, by default false. stream_options: an object, in which include_usage is true or false, by default false.

    A bool is not a number, and 2.0 is not a whole one. Anything else raises RequestError with status 400 and `param`, the name of the
    field (of max_tokens and max_completion_tokens the one that counts; stream_options for include_usage); if room is too small, even for
    the default, with the code "context_length_exceeded". The body is not changed.
    """
    ### BEGIN SOLUTION
    def field(name: str, default: Any, kinds: Any, rule: str, holds: Callable[[Any], bool] = lambda value: True) -> Any:
        value = body.get(name)
        if value is None:
            return default
        if not isinstance(value, kinds) or (isinstance(value, bool) and kinds is not bool) or not holds(value):
            raise RequestError(f"{name} must be {rule}, got {value!r}", param=name)
        return value

    def max_tokens() -> int:
        limit = "max_completion_tokens" if chat and body.get("max_completion_tokens") is not None else "max_tokens"
        tokens = field(limit, room if chat else 16, int, "a whole number of 1 or more", lambda m: m >= 1)
        if not 1 <= tokens <= room:
            message = f"the prompt leaves room for {room} tokens, {limit} is {tokens}"
            raise RequestError(message, param=limit, code="context_length_exceeded")
        return tokens

    def logprobs() -> int | None:
        if not chat:
            return field("logprobs", None, int, "a whole number from 0 to 5", lambda k: 0 <= k <= 5)
        wanted = field("logprobs", False, bool, "true or false")
        best = field("top_logprobs", 0, int, "a whole number from 0 to 20", lambda k: 0 <= k <= 20)
        return best if wanted else None

    def stop() -> tuple[str, ...]:
        def are_stops(given: str | list[Any]) -> bool:
            stops = [given] if isinstance(given, str) else given
            return 1 <= len(stops) <= 4 and all(isinstance(each, str) and each for each in stops)

        given = field("stop", [], (str, list), "a string or 1 to 4 of them, none empty", are_stops)
        return tuple([given] if isinstance(given, str) else given)

    def include_usage() -> bool:
        def tells_usage(options: dict[str, Any]) -> bool:
            return isinstance(options.get("include_usage"), bool | None)

        options = field("stream_options", {}, dict, "an object, include_usage in it true or false", tells_usage)
        return bool(options.get("include_usage"))

    field("n", 1, int, "1", lambda n: n == 1)
    return SamplingParams(
        max_tokens=max_tokens(),
        logprobs=logprobs(),
        stop=stop(),
        include_usage=include_usage(),
        temperature=field("temperature", 1.0, (int, float), "a number from 0 to 2", lambda t: 0 <= t <= 2),
        top_p=field("top_p", 1.0, (int, float), "a number above 0 and at most 1", lambda p: 0 < p <= 1),
        seed=field("seed", None, int, "a whole number of 64 bits", lambda seed: -(2**63) <= seed < 2**63),
        stream=field("stream", False, bool, "true or false"),
    )
    ### END SOLUTION


def token_logprobs(logits: Tensor, token_id: int, k: int) -> tuple[float, list[tuple[int, float]]]:
    """Return what the model thought of a token: its log probability, and the k best tokens as (token id, log probability), best first.

    logits (V,), any floating dtype, as the model made them: neither temperature nor a filter has touched them. Natural logarithms, taken
    in float32 at least, and finite wherever the logit is, however small the probability. Of equal tokens any may come first; k = 0 gives
    []. 0 <= k <= V.
    """
    ### BEGIN SOLUTION
    log_probs = log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32)))
    best = log_probs.topk(k)
    return log_probs[token_id].item(), list(zip(best.indices.tolist(), best.values.tolist(), strict=True))
    ### END SOLUTION


class TextStream:
    """Text of one answer, made from its tokens as far as it may be shown, and the reason why it ended.

    finish_reason: None while the answer goes on; "stop" once it has met the tokenizer's EOS or one of params.stop; "length" after
    params.max_tokens tokens, if neither has come by then, not even with the last of them. Then it stays.
    All pushes, joined, give the whole answer: what a client without streaming gets at once. The work of a push does not grow with the
    answer.
    """

    def __init__(self, tokenizer: Tokenizer, params: SamplingParams) -> None:
        ### BEGIN SOLUTION
        self.decoder, self.stops = StreamDecoder(tokenizer), StopStrings(params.stop)
        self.eos_token_id, self.left = tokenizer.eos_token_id, params.max_tokens
        self.finish_reason: str | None = None
        ### END SOLUTION

    def push(self, token_id: int) -> str:
        """Return the text that this token makes certain.

        These are whole characters (as in `StreamDecoder`), no stop string and nothing after one, and nothing that may become the
        beginning of one (as in `StopStrings`, even if one token completes two stop strings). EOS has no text. With EOS, or with the last
        token, what was held back comes out, bytes of a character that never became whole as U+FFFD, unless a stop string is completed by
        it. After the end every push gives "".
        """
        ### BEGIN SOLUTION
        if self.finish_reason:
            return ""
        self.left -= 1
        eos = token_id == self.eos_token_id
        ended = eos or self.left == 0
        text = "" if eos else self.decoder.push(token_id)
        emit, stopped = self.stops.push(text + self.decoder.flush() if ended else text)
        if stopped or ended:
            self.finish_reason = "stop" if stopped or eos else "length"
        return emit + self.stops.flush() if ended else emit
        ### END SOLUTION


class AsyncEngine:
    """One core with many readers: the task `run` steps the core, and each request that `generate` has open reads a queue of its own.

    queues: the queue of every open request, by its id, and nothing else. wake: set when there may be something to do.
    """

    def __init__(self, core: Core, max_waiting: int) -> None:
        """Start without requests. max_waiting: while that many requests wait in the core, no more are accepted."""
        self.core, self.max_waiting = core, max_waiting
        self.queues: dict[str, asyncio.Queue[TokenOutput | Exception]] = {}
        self.wake = asyncio.Event()
        self.draining = False

    async def run(self) -> None:
        """Step the core while it has work, and hand each output to its reader; a token for a reader that has left is dropped.

        Without work it waits for `wake`: no step, no turn of a loop, until a request comes. If a step raises an Exception, the reader of
        every open request gets it, after the tokens that are in its queue, these requests are aborted, and `run` goes on. Cancelling
        `run` ends it.
        It returns when the engine is draining and the core has no work left, even if readers have not read all tokens yet.
        """
        ### BEGIN SOLUTION
        while self.core.has_work or not self.draining:
            if not self.core.has_work:
                self.wake.clear()
                await self.wake.wait()
                continue
            try:
                for output in await self.core.step():
                    if output.request_id in self.queues:
                        self.queues[output.request_id].put_nowait(output)
            except Exception as error:
                for request_id, queue in list(self.queues.items()):
                    queue.put_nowait(error)
                    self.forget(request_id)
        ### END SOLUTION

    async def generate(self, request_id: str, prompt_ids: Sequence[int], params: SamplingParams) -> AsyncGenerator[TokenOutput, None]:
        """Yield the tokens of one answer, in order, each as soon as there is one; params.max_tokens of them at most.

        request_id: not that of another open request. The request is added when the first token is asked for. Before that, and with
        nothing added, raises RequestError: status 503, code "shutting_down", if the engine is draining, whether or not the queue is full;
        else status 429, code "queue_full", if max_waiting or more requests wait in the core already. Running requests do not count.
        The id of a request that has ended may come again. An exception of the core's `add` is passed on; nothing is aborted then, and no
        queue is left. Raises what a step raised while the request was open. However a request ends after `add`, by its last token, by
        `aclose`, a cancelled task or an exception, it is aborted in the core and its queue deleted, both once.
        """
        ### BEGIN SOLUTION
        if self.draining:
            raise RequestError("the server is shutting down", status=503, code="shutting_down", kind="server_error")
        if self.core.num_waiting >= self.max_waiting:
            message = f"{self.core.num_waiting} requests wait already, try again later"
            raise RequestError(message, status=429, code="queue_full", kind="rate_limit_error")
        self.core.add(request_id, prompt_ids, params)
        queue = self.queues[request_id] = asyncio.Queue()
        self.wake.set()
        try:
            for _ in range(params.max_tokens):
                output = await queue.get()
                if isinstance(output, Exception):
                    raise output
                yield output
        finally:
            self.forget(request_id)
        ### END SOLUTION

    def forget(self, request_id: str) -> None:
        """End an open request: its queue is deleted, and the core aborts it. An id that is not open is ignored."""
        ### BEGIN SOLUTION
        if self.queues.pop(request_id, None) is not None:
            self.core.abort(request_id)
        ### END SOLUTION

    def drain(self) -> None:
        """Accept no new request. Open requests are answered to the end, and then `run` returns, from an idle wait too.

        A second call changes nothing.
        """
        ### BEGIN SOLUTION
        self.draining = True
        self.wake.set()
        ### END SOLUTION


async def send_events(
    receive: Callable[[], Awaitable[dict[str, Any]]],
    send: Callable[[dict[str, Any]], Awaitable[None]],
    events: AsyncGenerator[bytes, None],
) -> None:
    """Send an ASGI answer of server-sent events, each as soon as it is there, until there are no more or the client has left.

    First, at once, http.response.start with status 200 and the headers content-type text/event-stream and cache-control no-cache; then for
    every event one http.response.body, more_body true; at the end an empty one, more_body false. Headers are pairs of bytes, names in lower
    case.

    Meanwhile it listens: at http.disconnect the generator is closed at once, even in the middle of waiting for its next event, or while
    `send` is in the middle of sending one; nothing more is sent, and the function returns. Anything else that `receive` gives is skipped.
    Whatever happens, `events` is closed and nothing listens any more when it returns; an exception of `events` or `send` is passed on,
    and so is a cancellation. That includes an OSError of `send`: a server may say with it that the client is gone, and the server has to
    catch it. ASGI specification 2.5, HTTP.
    """
    ### BEGIN SOLUTION
    headers = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-cache")]

    async def answer() -> None:
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        async for event in events:
            await send({"type": "http.response.body", "body": event, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def client_leaves() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    tasks = [asyncio.ensure_future(answer()), asyncio.ensure_future(client_leaves())]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        outcome, _ = await asyncio.gather(*tasks, return_exceptions=True)  # until both have let go of events, send and receive
        await events.aclose()
    if isinstance(outcome, Exception):
        raise outcome
    ### END SOLUTION


def poisson_arrivals(rate: float, uniforms: Sequence[float]) -> list[float]:
    """Return the times at which independent requests arrive: one time, in seconds from now, for each uniform number.

    rate: requests a second on average; uniforms: drawn from [0, 1). The gap before a request is exponentially distributed, from u by the
    inverse of its distribution; the first is counted from 0. Raises ValueError with the rate in its message unless rate > 0.
    """
    ### BEGIN SOLUTION
    if not rate > 0:
        raise ValueError(f"rate must be above 0 requests a second, got {rate}")
    gaps = [-math.log1p(-u) / rate for u in uniforms]
    return list(accumulate(gaps))
    ### END SOLUTION


async def run_load(
    send: Callable[[int], AsyncIterator[Any]],
    arrivals: Sequence[float],
    clock: Callable[[], float],
    sleep: Callable[[float], Awaitable[None]],
) -> list[Trace | None]:
    """Send requests as open-loop load, each at its own time, however many others are under way -> its trace, in the order of arrivals.

    arrivals[i]: seconds from now, never falling. send(i) gives the tokens of request i as they come, at least one, or raises
    RequestError of any status, perhaps after some tokens: the request was refused, and its place in the list is None. clock() -> seconds;
    await sleep(seconds) waits, never less but perhaps more. Every request is sent, however late. A trace's arrival is the *planned* time on
    this clock, so that a request that was sent late has waited since then; its token_times are the clock's as each token was there. Any
    other exception is passed on.
    """
    ### BEGIN SOLUTION
    start = clock()

    async def one(i: int, planned: float) -> Trace | None:
        await sleep(max(0.0, planned - clock()))
        try:
            return Trace(planned, [clock() async for _ in send(i)])
        except RequestError:
            return None

    return await asyncio.gather(*(one(i, start + arrival) for i, arrival in enumerate(arrivals)))
    ### END SOLUTION


def served_goodput(traces: Sequence[Trace | None], ttft_slo: float, itl_slo: float) -> float:
    """Return the share of all requests that kept both promises, 0 to 1: TTFT at most ttft_slo and every gap at most itl_slo, in seconds.

    None is a request that was refused: it has kept none. Day 8's `goodput` is a rate, requests a second over a span, and knows only the
    requests that were served; this one says what a client may hope for. The list is not changed. Raises ValueError if it is empty.
    """
    ### BEGIN SOLUTION
    if not traces:
        raise ValueError("served_goodput needs at least one request, got []")
    kept = [trace for trace in traces if trace and trace.ttft <= ttft_slo and all(gap <= itl_slo for gap in trace.itl)]
    return len(kept) / len(traces)
    ### END SOLUTION
