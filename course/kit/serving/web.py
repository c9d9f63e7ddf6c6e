"""The HTTP side of a server: its addresses and their answers, in the form of OpenAI's API. The working parts are passed in.

`Parts` has the engine and everything that a student writes on Day 18; this module is the layer between `Parts` and HTTP.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import ipaddress
import sys
import time
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from ..models.tokenizer import Tokenizer
from .access import ANYBODY, Access
from .choices import Choices, Prompt, with_seed
from .core import Core, Report
from .endings import text_stream
from .extras import Extras, read_extras
from .messages import RequestError, SamplingParams
from .metrics import CONTENT_TYPE, Metrics
from .reading import ClientLeft, Reading, unless_client_leaves
from .requests import (
    as_contract,
    asked,
    check_fields,
    flag,
    num_samples,
    only_echoes,
    prompt_ids,
    prompts_of,
    read_body,
    require_known,
    unknown_model,
)
from .shapes import Answer, Piece

PAGE = Path(__file__).with_name("chat.html")
PAGE_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; connect-src 'self'; img-src data:; script-src 'unsafe-inline'; "
    "style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-cache",
}
"""The headers that keep a browser from contacting other hosts, whatever the page contains."""
CLIENT_LEFT = 499
"""The status of a client that left before there was an answer, as in nginx; only /metrics shows it."""
RETRY_AFTER_SECONDS = 1
ANSWERED = CHAT, COMPLETION = "/v1/chat/completions", "/v1/completions"
"""The addresses of requests for an answer."""


@dataclass(frozen=True)
class Parts:
    """The parts of the server: Day 18's functions and classes and Day 2's render_chat, or replacements with the same contract."""

    AsyncEngine: Callable[[Core, int], Any]
    TextStream: Callable[[Tokenizer, SamplingParams], Any]
    parse_params: Callable[..., SamplingParams]
    sse_event: Callable[[dict[str, Any] | str], bytes]
    send_events: Callable[[Receive, Send, AsyncGenerator[bytes, None]], Coroutine[Any, Any, None]]
    render_chat: Callable[[list[dict[str, str]]], str]


@dataclass(frozen=True)
class Served:
    """The served model. max_len: tokens of prompt and answer together.

    defaults: {a field of a request: its value where a request leaves it out}, of temperature and top_p. version: the server's own version.
    """

    name: str
    tokenizer: Tokenizer
    vocab_size: int
    max_len: int
    defaults: Mapping[str, float] = field(default_factory=dict)
    version: str = field(kw_only=True)


class Server:
    """One model behind HTTP. `app` is the ASGI application; while it runs, one of its tasks steps the engine.

    num_open: the number of requests that are not fully answered yet. failed: an event, set if the engine's task ended by itself.
    """

    def __init__(self, core: Core, parts: Parts, served: Served, *, max_waiting: int, access: Access = ANYBODY) -> None:
        self.core, self.parts, self.served, self.access = core, parts, served, access
        self.engine, self.max_waiting = parts.AsyncEngine(core, max_waiting), max_waiting
        self.metrics = Metrics(core)
        self.num_open = 0
        self.draining = False
        self.failed = asyncio.Event()
        self.created = int(time.time())
        self.app = Starlette(
            routes=[
                Route("/", self.page),
                Route("/health", self.health),
                Route("/version", self.version),
                Route("/metrics", self.tell_metrics),
                Route("/v1/models", self.models),
                Route("/v1/models/{name:path}", self.model),
                Route(CHAT, functools.partial(self.answer, chat=True), methods=["POST"]),
                Route(COMPLETION, functools.partial(self.answer, chat=False), methods=["POST"]),
                Route("/tokenize", functools.partial(self.count, self.tokenized), methods=["POST"]),
                Route("/detokenize", functools.partial(self.count, self.detokenized), methods=["POST"]),
            ],
            exception_handlers={HTTPException: no_such_route, Exception: unexpected},
            middleware=access.middleware(self.count_refused),
            lifespan=self.lifespan,
        )

    def drain(self) -> None:
        """Accept no new requests. Open requests are answered to the end."""
        self.draining = True
        self.engine.drain()

    @contextlib.asynccontextmanager
    async def lifespan(self, app: Starlette) -> AsyncIterator[None]:
        task = asyncio.ensure_future(self.engine.run())
        task.add_done_callback(self._engine_ended)
        try:
            yield
        finally:
            self.drain()
            await asyncio.wait({task}, timeout=1)  # with no work left it ends by itself
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def _engine_ended(self, task: asyncio.Task[None]) -> None:
        if self.draining or task.cancelled():
            return
        error = task.exception()
        reason = f"{type(error).__name__}: {error}" if error else "it returned"
        print(f"The engine's task has ended, so the server cannot answer any more: {reason}", file=sys.stderr, flush=True)
        self.failed.set()

    # GET requests

    async def page(self, request: Request) -> Response:
        return HTMLResponse(PAGE.read_bytes(), headers=PAGE_HEADERS)

    async def health(self, request: Request) -> Response:
        if self.draining or self.failed.is_set():
            return refusal(RequestError("the server is shutting down", status=503, code="shutting_down", kind="server_error"))
        return JSONResponse({"status": "ok"})

    async def tell_metrics(self, request: Request) -> Response:
        """Return the metrics, but only to this machine: cached-token counts and times reveal other clients' requests."""
        if not self._is_from_here(request):
            return refusal(RequestError("/metrics is answered on this machine only", status=403, code="only_loopback"))
        return Response(self.metrics.page(), media_type=CONTENT_TYPE)

    def _is_from_here(self, request: Request) -> bool:
        """Return True if the client is on this machine."""
        address = request.headers.get("x-forwarded-for") if self.access.routed else None
        if address is None and request.client is not None:
            address = request.client.host
        return address is None or ipaddress.ip_address(address).is_loopback

    async def version(self, request: Request) -> Response:
        return JSONResponse({"version": self.served.version})

    async def models(self, request: Request) -> Response:
        return JSONResponse({"object": "list", "data": [self._listing()]})

    async def model(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name != self.served.name:
            return refusal(unknown_model(name, self.served.name))
        return JSONResponse(self._listing())

    def _listing(self) -> dict[str, Any]:
        return {"id": self.served.name, "object": "model", "created": self.created, "owned_by": "from-prompt-to-token"}

    # Tokens, without an answer

    async def count(self, made: Callable[[dict[str, Any]], dict[str, Any]], request: Request) -> Response:
        """Return the result of `made` for a request's body. `made` runs in a thread, so a long text delays no other client's tokens."""
        try:
            return JSONResponse(await asyncio.to_thread(made, await read_body(request)))
        except RequestError as error:
            return refusal(error)
        except ClientDisconnect:
            return Response(status_code=CLIENT_LEFT)

    def tokenized(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return the token ids, and their number, of a text (`prompt` as in vLLM, `content` as in llama.cpp) or of `messages`."""
        require_known(asked(body), {"prompt", "content", "messages", "model"})
        given = [name for name in ("prompt", "content", "messages") if body.get(name) is not None]
        if len(given) != 1:
            raise RequestError("give exactly one of prompt, content and messages", param=given[-1] if given else "prompt")
        chat = given == ["messages"]
        prompts = prompts_of({"prompt": body.get("content"), **body}, chat=chat)
        if len(prompts) > 1:
            raise RequestError("prompt must be one text or list of token ids", param="prompt")
        [ids] = self._encoded(prompts, chat)
        return {"tokens": ids, "count": len(ids), "max_model_len": self.served.max_len}

    def detokenized(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return the text of token ids, as `prompt` and as `content`."""
        require_known(asked(body), {"tokens", "model"})
        tokens = body.get("tokens")
        if not isinstance(tokens, list) or not all(type(token) is int and 0 <= token < self.served.vocab_size for token in tokens):
            raise RequestError(f"tokens must be a list of token ids, 0 to {self.served.vocab_size - 1}, got {tokens!r:.60}", param="tokens")
        text = self.served.tokenizer.decode(tokens)
        return {"prompt": text, "content": text}

    # Answers

    def count_refused(self, scope: Scope, status: int) -> None:
        """Count a request for an answer that the rules for access refused."""
        if scope["method"] == "POST" and scope["path"] in ANSWERED:
            self.metrics.requests.labels(str(status)).inc()

    async def answer(self, request: Request, *, chat: bool) -> Response:
        """Answer a request, whole or as a stream, and count the status."""
        started = time.perf_counter()
        self.num_open += 1
        handed_on = False
        try:
            response = await self._answer(request, chat, started)
            handed_on = isinstance(response, Events)
        except RequestError as error:
            response = refusal(error)
        except (ClientLeft, ClientDisconnect):
            response = Response(status_code=CLIENT_LEFT)
        except Exception as error:  # of the engine, or of a part
            response = refusal(as_request_error(error))
        finally:
            if not handed_on:
                self.num_open -= 1
        self.metrics.requests.labels(str(response.status_code)).inc()
        return response

    async def _answer(self, request: Request, chat: bool, started: float) -> Response:
        body = await read_body(request)
        check_fields(body, self.served.name, chat=chat)
        given, n = prompts_of(body, chat=chat), num_samples(body)
        count = len(given) * n
        if count > self.max_waiting:
            message = f"a request for {count} answers does not fit into this server's queue of {self.max_waiting}: send several requests"
            raise RequestError(message, param="prompt" if len(given) > 1 else "n")
        # In a thread: a long prompt would keep everybody else's tokens waiting.
        encoded = await asyncio.to_thread(self._encoded, given, chat)
        prompts = [self._prompt(ids, body, chat) for ids in encoded]
        # The engine itself refuses a single answer that does not fit into the queue.
        if count > 1 and not self.draining and self.core.num_waiting + count > self.max_waiting:
            message = f"{self.core.num_waiting} requests wait already, and {count} more do not fit: try again later"
            raise RequestError(message, status=429, code="queue_full", kind="rate_limit_error")
        name = f"{'chatcmpl' if chat else 'cmpl'}-{uuid.uuid4().hex}"
        # The counts of cached tokens tell what requests of the same salt, or of none, have asked.
        reports = [prompt.report for prompt in prompts] if prompts[0].extras.salt or self._is_from_here(request) else []
        num_prompt_tokens = sum(len(prompt.ids) for prompt in prompts)
        tokenizer, created = self.served.tokenizer, int(time.time())
        answer = Answer(name, created, self.served.name, chat, tokenizer, prompts[0].params, num_prompt_tokens, n=count, reports=reports)

        def echo(i: int) -> Piece:
            return answer.echo(prompts[i].ids, prompts[i].report, alone=only_echoes(body))

        choices = Choices(self._readings(name, prompts, n, started), n, echo if not chat and flag(body, "echo") else None)
        try:
            await unless_client_leaves(request.receive, choices.begin())
            if answer.params.stream:
                return Events(self, answer, choices)
            pieces = await unless_client_leaves(request.receive, _all(choices))
        except (ClientLeft, asyncio.CancelledError):
            self.metrics.aborted.inc()
            await choices.close()
            raise
        except BaseException:
            await choices.close()
            raise
        finally:
            for of_core in ("extras", "reports"):
                for place in range(count):  # of requests that the engine did not take
                    getattr(self.core, of_core, {}).pop(f"{name}-{place}", None)
        return JSONResponse(answer.whole(pieces))

    def _encoded(self, prompts: dict[str, Any], chat: bool) -> list[list[int]]:
        """Return the token ids of each prompt. Raises RequestError."""
        served = self.served
        return [
            prompt_ids(
                prompt, param, chat=chat, tokenizer=served.tokenizer, vocab_size=served.vocab_size, max_len=served.max_len,
                render_chat=self.parts.render_chat,
            )
            for param, prompt in prompts.items()
        ]  # fmt: skip

    def _prompt(self, ids: list[int], body: dict[str, Any], chat: bool) -> Prompt:
        """Return a prompt with the settings of its answers. Raises RequestError."""
        served, room = self.served, self.served.max_len - len(ids)
        params = self.parts.parse_params(as_contract(body, chat=chat, room=room, defaults=served.defaults), chat=chat, room=room)
        extras = read_extras(body, served.vocab_size, params.max_tokens)
        if extras != Extras() and not hasattr(self.core, "extras"):
            raise without_extras(extras)
        report = Report(prompt_top=params.logprobs if not chat and flag(body, "echo") else None)
        if report.prompt_top is not None and not hasattr(self.core, "reports"):
            raise RequestError("echo with logprobs is not supported by this engine", param="echo", code="unsupported_parameter")
        return Prompt(ids, params, extras, report)

    def _readings(self, name: str, prompts: list[Prompt], n: int, started: float) -> list[Reading]:
        """Return the readings of all choices, each with a request of its own to the engine. The first one of a prompt has its report."""
        answers = [(prompt, sample, with_seed(prompt.params, sample)) for prompt in prompts for sample in range(n)]
        streams = [text_stream(self.parts.TextStream, self.served.tokenizer, params, prompt.extras) for prompt, _, params in answers]
        readings = []
        for place, ((prompt, sample, params), stream) in enumerate(zip(answers, streams, strict=True)):
            request_id = f"{name}-{place}"
            if prompt.extras != Extras():
                self.core.extras[request_id] = prompt.extras  # type: ignore[attr-defined]
            if hasattr(self.core, "reports") and sample == 0:
                self.core.reports[request_id] = prompt.report
            outputs = self.engine.generate(request_id, prompt.ids, params)
            num_prompt_tokens = 0 if sample else len(prompt.ids)
            readings.append(Reading(outputs, stream, self.metrics, None if place else started, num_prompt_tokens))
        return readings


def without_extras(extras: Extras) -> RequestError:
    """Return the error for a request to a core that does not support these settings."""
    name = next(name for name, value in vars(extras).items() if value != getattr(Extras(), name))
    param = "cache_salt" if name == "salt" else name
    return RequestError(f"{param} is not supported", param=param, code="unsupported_parameter")


async def _all(choices: Choices) -> list[Piece]:
    return [piece async for piece in choices.pieces()]


class Events(Response):
    """A streamed answer, sent as server-sent events. If the client leaves, all choices are ended in the engine."""

    def __init__(self, server: Server, answer: Answer, choices: Choices) -> None:
        super().__init__()
        self.server, self.answer, self.choices = server, answer, choices

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_unbuffered(message: Message) -> None:
            if message["type"] == "http.response.start":  # nginx, and those that follow it, would collect events first
                message = {**message, "headers": [*message.get("headers", []), (b"x-accel-buffering", b"no")]}
            await send(message)

        try:
            await self.server.parts.send_events(receive, send_unbuffered, self.events())
        finally:
            await self.choices.close()
            if not self.choices.ended:
                self.server.metrics.aborted.inc()
            self.server.num_open -= 1

    async def events(self) -> AsyncGenerator[bytes, None]:
        event, answer = self.server.parts.sse_event, self.answer
        try:
            for index in range(answer.n if answer.chat else 0):
                yield event(answer.opening(index))
            async for piece in self.choices.pieces():
                yield event(answer.chunk(piece))
            if answer.params.include_usage:
                yield event(answer.closing())
        except RequestError as error:
            yield event(error.body)
        except Exception as error:  # the status has been sent: what is left to say is an event
            yield event(as_request_error(error).body)
        else:
            yield event("[DONE]")


def as_request_error(error: Exception) -> RequestError:
    """Return the part of an internal failure that a client may see; print the rest for the operator."""
    print(f"A request failed: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
    return RequestError(f"the engine failed: {type(error).__name__}", status=500, code="engine_failed", kind="server_error")


def refusal(error: RequestError) -> Response:
    headers = {"Retry-After": str(RETRY_AFTER_SECONDS)} if error.status in (429, 503) else None
    return JSONResponse(error.body, error.status, headers=headers)


async def no_such_route(request: Request, error: Exception) -> Response:
    """Refuse an unknown path, or a known path with a wrong method, in the same form as all other errors."""
    assert isinstance(error, HTTPException)
    what = {404: f"there is nothing at {request.url.path!r:.200}", 405: f"{request.method} is not supported at {request.url.path}"}
    refused = RequestError(what.get(error.status_code, error.detail), status=error.status_code, code="unknown_url")
    return JSONResponse(refused.body, error.status_code, headers=error.headers)


async def unexpected(request: Request, error: Exception) -> Response:
    return refusal(as_request_error(error))
