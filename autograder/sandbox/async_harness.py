"""Scenarios around a student's coroutines, played in the student's process: readers that leave, a client that hangs up, the loop's clock.

A scenario decides nothing. The check's own functions decide a core's steps and a client's messages and times, and every event is reported
to the check as it happens. So the records stay with the grader. A submission that changed a scenario would be believed only if it
reported the right events, and producing these is the task.
"""

from __future__ import annotations

import asyncio
import copy
import dataclasses
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from course.kit.serving import RequestError, SamplingParams, TokenOutput

MOST_ASKED = 3_000
"""Maximum number of questions about a core's state in one scenario: an idle loop that polls would ask forever."""
SETTLE_SECONDS = 1.0


@dataclass
class Scenario:
    """A scenario, to be called with its arguments. name: one of SCENARIOS."""

    name: str

    async def __call__(self, *given: Any) -> Any:
        return await SCENARIOS[self.name](*given)


class AskedTooOften(RuntimeError):
    """The error of an engine that never stops asking its core for work."""


class Fault(Exception):
    """A fault that a scenario plays."""


def now() -> float:
    return asyncio.get_running_loop().time()


def error_as_data(error: BaseException) -> dict[str, Any]:
    """Return an exception as data: its class, its text, and for a RequestError the status and the body."""
    refusal = {"status": error.status, "body": error.body} if isinstance(error, RequestError) else {}
    return {"kind": type(error).__name__, "message": str(error)[:300], **refusal}


# ---- one call ------------------------------------------------------------------------------------------------------


async def attempt(function: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Call a function. Return {"returned": its result, SamplingParams as a dict} or {"refused": its RequestError as data}."""
    try:
        result = function(*args, **kwargs)
    except RequestError as error:
        return {"refused": error_as_data(error)}
    if isinstance(result, SamplingParams):
        return {"returned": {field.name: getattr(result, field.name) for field in dataclasses.fields(result)}}
    return {"returned": result}


async def pushes(
    make: Callable[..., Any], args: list[list[Any]], order: list[list[Any]], attribute: str | None, first: dict[str, Any] | None = None
) -> list[Any]:
    """Make an object for each of args; then push each (which, piece) of `order` and return the results.

    With an attribute, each entry is [result, the attribute's value after the push]. first: values for attributes of the first argument, set
    on a copy of it.
    """
    if first:
        for each in args:
            each[0] = copy.copy(each[0])
            for name, value in first.items():
                setattr(each[0], name, value)
    made = [make(*each) for each in args]
    results = []
    for which, piece in order:
        result = made[which].push(piece)
        results.append(result if attribute is None else [result, getattr(made[which], attribute)])
    return results


# ---- an engine and its readers -------------------------------------------------------------------------------------


class AskedCore:
    """A core that stays with the check: `tell(what, time, ...)` receives every call and decides its result."""

    def __init__(self, tell: Callable[..., Any]) -> None:
        self._tell = tell
        self._asked = 0

    def _ask(self, what: str) -> Any:
        self._asked += 1
        if self._asked > MOST_ASKED:
            raise AskedTooOften(f"the core has been asked {MOST_ASKED:,} times whether there is work: wait instead of asking again")
        return self._tell("ask", now(), what)

    @property
    def has_work(self) -> bool:
        return bool(self._ask("has_work"))

    @property
    def num_waiting(self) -> int:
        return int(self._ask("num_waiting"))

    @property
    def num_running(self) -> int:
        return int(self._ask("num_running"))

    @property
    def num_free_blocks(self) -> int:
        return int(self._ask("num_free_blocks"))

    def add(self, request_id: str, prompt_ids: Any, params: Any) -> None:
        if self._tell("add", now(), request_id, list(prompt_ids), dataclasses.asdict(params)) == "fault":
            raise Fault("this request cannot be served")

    def abort(self, request_id: str) -> None:
        self._tell("abort", now(), request_id)

    async def step(self) -> list[TokenOutput]:
        step = self._tell("step", now())
        await asyncio.sleep(step["seconds"])
        self._tell("stepped", now())
        if step["fault"]:
            raise Fault(step["fault"])
        return [TokenOutput(*output) for output in step["outputs"]]


async def read(engine: Any, tell: Callable[..., Any], plan: dict[str, Any]) -> None:
    """Play one reader: it arrives at plan["at"], reads, and ends as the plan says."""
    name = plan["id"]
    source = engine.generate(name, plan["prompt"], SamplingParams(**plan["params"]))
    held = [source]
    del source
    got = 0
    try:
        if plan.get("never"):
            await held.pop().aclose()
            tell("reader", now(), name, "left", 0)
            return
        async for output in held[0] if not plan.get("drops") else held.pop():
            got += 1
            tell("reader", now(), name, "token", [output.request_id, output.token_id, output.logprob, output.top_logprobs])
            if got == plan.get("raises_after"):
                raise Fault("the reader has a fault")
            if got == plan.get("leaves_after"):
                break
            await asyncio.sleep(plan.get("pause", 0.0)) if plan.get("pause") else None
        tell("reader", now(), name, "left" if got == plan.get("leaves_after") else "end", got)
    except asyncio.CancelledError:
        tell("reader", now(), name, "cancelled", got)
        raise
    except Exception as error:
        tell("reader", now(), name, "error", error_as_data(error))
        if isinstance(error, NotImplementedError):
            raise
    finally:
        for source in held:
            await source.aclose()
        if held:
            tell("reader", now(), name, "closed", got)


async def serve(engine_class: Callable[..., Any], tell: Callable[..., Any], max_waiting: int, plan: list[dict[str, Any]]) -> None:
    """Run a core and an engine through the events of a plan: readers, each with its time, "drain", "peek" and "stop" (cancels `run`).

    After the last event the engine has one second to settle. Then it is drained, and `run` has to return.
    """
    engine = engine_class(AskedCore(tell), max_waiting)
    runner = asyncio.ensure_future(engine.run())

    async def actor(step: dict[str, Any]) -> None:
        await asyncio.sleep(step["at"])
        match step.get("do"):
            case "drain":
                tell("drain", now())
                engine.drain()
            case "peek":
                tell("peek", now(), sorted(engine.queues))
            case "stop":
                runner.cancel()
            case _:
                reader = asyncio.ensure_future(read(engine, tell, step))
                if "cancelled_at" in step:
                    asyncio.get_running_loop().call_later(step["cancelled_at"] - step["at"], reader.cancel)
                await asyncio.gather(reader, return_exceptions="cancelled_at" in step)

    actors = asyncio.gather(*(actor(step) for step in plan))
    await asyncio.wait([actors, runner], return_when=asyncio.FIRST_COMPLETED)
    if runner.done() and not runner.cancelled() and runner.exception():
        actors.cancel()
        await asyncio.gather(actors, return_exceptions=True)
        runner.result()
    await actors
    await asyncio.sleep(SETTLE_SECONDS)
    tell("queues", now(), sorted(engine.queues))
    if not runner.done():
        engine.drain()
    done, _ = await asyncio.wait([runner], timeout=SETTLE_SECONDS)
    tell("run", now(), "cancelled" if runner.cancelled() else "returned" if done else "goes on")
    if done and not runner.cancelled():
        runner.result()


async def serve_two(
    engine_class: Callable[..., Any],
    tell: Callable[..., Any],
    tell_other: Callable[..., Any],
    max_waiting: int,
    plan: list[dict[str, Any]],
    plan_of_other: list[dict[str, Any]],
) -> None:
    """Play two engines at the same time, each with its own core and plan, as `serve` plays one."""
    await asyncio.gather(serve(engine_class, tell, max_waiting, plan), serve(engine_class, tell_other, max_waiting, plan_of_other))


# ---- an answer over ASGI -------------------------------------------------------------------------------------------


async def answer(function: Callable[..., Awaitable[None]], tell: Callable[..., Any], plan: dict[str, Any]) -> None:
    """Play one answer as `plan` says: its events come after their gaps, its messages at their times, and each `send` takes send_seconds.

    cancelled_at: the time at which the caller cancels the answer. send_fault: the message at which `send` raises a Fault. send_gone: the
    message at which `send` raises an OSError, as a server does when the client is gone.
    """
    receive, num_listening = inbox(plan["messages"])
    source = events_of(tell, plan)
    others = asyncio.all_tasks()
    listening = 0

    async def watched() -> None:
        nonlocal listening
        try:
            await function(receive, sending(tell, plan), source)
        finally:
            listening = num_listening()  # here: a listener that was cancelled and not awaited ends in the next turn of the loop

    task = asyncio.ensure_future(watched())
    if "cancelled_at" in plan:
        asyncio.get_running_loop().call_later(plan["cancelled_at"], task.cancel)
    await asyncio.wait([task])
    error = None if task.cancelled() else task.exception()
    if isinstance(error, NotImplementedError | TypeError | AttributeError | NameError):
        raise error
    tell("returned", now(), "cancelled" if task.cancelled() else error_as_data(error) if error else None, listening)
    left = len(asyncio.all_tasks() - others - {task})
    await asyncio.sleep(SETTLE_SECONDS)
    tell("after", now(), left)


async def events_of(tell: Callable[..., Any], plan: dict[str, Any]) -> AsyncGenerator[bytes, None]:
    """Yield the plan's events after their gaps, raise its fault after them, and take its time to close."""
    tell("events", now(), "begun")
    try:
        for gap, event in plan["events"]:
            await asyncio.sleep(gap)
            tell("events", now(), "made")
            yield event
        if plan.get("events_fault"):
            raise Fault(plan["events_fault"])
    finally:
        if plan.get("closing"):
            await asyncio.sleep(plan["closing"])
        tell("events", now(), "closed")


def inbox(messages: list[Any]) -> tuple[Callable[[], Awaitable[dict[str, Any]]], Callable[[], int]]:
    """Return (`receive`, the number of its waiting calls). `receive` returns each message at its time, then waits forever."""
    left = [*messages]
    listening = 0

    async def receive() -> dict[str, Any]:
        nonlocal listening
        listening += 1
        try:
            if not left:
                await asyncio.Event().wait()
            at, message = left.pop(0)
            await asyncio.sleep(max(0.0, at - now()))
            return dict(message)
        finally:
            listening -= 1

    return receive, lambda: listening


def sending(tell: Callable[..., Any], plan: dict[str, Any]) -> Callable[[Any], Awaitable[None]]:
    """Return `send`, which reports each message, takes send_seconds, and fails at the message that the plan names."""
    sent = 0

    async def send(message: Any) -> None:
        nonlocal sent
        tell("send", now(), message)
        sent += 1
        if plan.get("send_seconds"):
            await asyncio.sleep(plan["send_seconds"])
        if sent == plan.get("send_fault"):
            raise Fault("the connection is gone")
        if sent == plan.get("send_gone"):
            raise OSError("the client is gone")
        tell("sent", now())

    return send


# ---- load ----------------------------------------------------------------------------------------------------------


async def load(
    function: Callable[..., Awaitable[Any]],
    tell: Callable[..., Any],
    arrivals: list[float],
    plans: list[dict[str, Any]],
    start: float,
    late: float,
    ahead: float = 0.0,
    tick: float = 0.0,
) -> list[Any]:
    """Play a run of load: request i is answered by plans[i]. `start`: the clock at the start; `late`: seconds added to every sleep.

    ahead: seconds that the clock is ahead of the loop's clock. tick: seconds that each reading of the clock adds, as on a busy machine.
    """

    async def send(i: int) -> AsyncGenerator[int, None]:
        tell("send", now(), i)
        plan = plans[i]
        for number, gap in enumerate(plan["gaps"]):
            await asyncio.sleep(gap)
            yield number
        if plan.get("refused"):
            raise RequestError("try again later", status=plan.get("status", 429), code="queue_full")
        if plan.get("fault"):
            raise Fault(plan["fault"])

    async def sleep(seconds: float) -> None:
        await asyncio.sleep(max(0.0, seconds) + late)

    def clock() -> float:
        nonlocal ahead
        ahead += tick
        return loop.time() + ahead

    loop = asyncio.get_running_loop()
    if start:
        await asyncio.sleep(start)
    traces = await function(send, arrivals, clock, sleep)
    return [None if trace is None else [trace.arrival, list(trace.token_times)] for trace in traces]


SCENARIOS: dict[str, Callable[..., Awaitable[Any]]] = {
    "attempt": attempt,
    "pushes": pushes,
    "serve": serve,
    "serve_two": serve_two,
    "answer": answer,
    "load": load,
}
