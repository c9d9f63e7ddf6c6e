"""An event loop for asyncio that opens no socket and never waits: its clock jumps to the next timer.

A server made of `asyncio.sleep` and queues runs in it as in any loop, but without waiting and with the same order of events every time. Ten
seconds of sleep advance `loop.time()` by ten seconds. If every task waits and no timer is set, another loop would hang; this one raises.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

Result = TypeVar("Result")


class NobodyGoesOn(RuntimeError):
    """The error of a deadlock: every task waits for another, and no timer is set."""


class _NoSockets:
    """A selector that has no sockets and never reports one as ready."""

    def select(self, timeout: float | None) -> list[Any]:
        return []


class VirtualLoop(asyncio.BaseEventLoop):
    """An event loop whose `time()` begins at 0 and advances only with timers. Timers of the same instant run in no particular order.

    Work for another thread (`asyncio.to_thread`, `run_in_executor`) runs at once in this thread, because no other thread could wake this
    loop.
    """

    # Attributes of asyncio's own loop: callbacks that are due, a heap of timers, and whether it must stop.
    _ready: Any
    _scheduled: Any
    _stopping: bool

    def __init__(self) -> None:
        super().__init__()
        self._now = 0.0
        self._selector = _NoSockets()

    def time(self) -> float:
        return self._now

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:  # type: ignore[override]
        done = self.create_future()
        try:
            done.set_result(func(*args))
        except Exception as error:
            done.set_exception(error)
        return done

    def _process_events(self, events: list[Any]) -> None:
        """Do nothing: there are no sockets."""

    def _write_to_self(self) -> None:
        """Do nothing: only other threads need this method, to wake a loop."""

    def _run_once(self) -> None:
        if not self._ready and not self._stopping:
            timers = self._scheduled
            while timers and timers[0].cancelled():
                heapq.heappop(timers)._scheduled = False
            if not timers:
                raise NobodyGoesOn("every task waits and no timer is set, so no task can ever continue")
            self._now = max(self._now, timers[0].when())
        super()._run_once()  # type: ignore[misc]


class _Policy(asyncio.DefaultEventLoopPolicy):
    def new_event_loop(self) -> asyncio.AbstractEventLoop:
        return VirtualLoop()


@contextmanager
def virtual_asyncio() -> Iterator[None]:
    """Make `asyncio.run` and similar functions create virtual loops in this block. A loop that already runs (a notebook's) is hidden."""
    running, policy = asyncio._get_running_loop(), asyncio.get_event_loop_policy()
    asyncio._set_running_loop(None)
    inside = isinstance(policy, _Policy)
    if not inside:
        asyncio.set_event_loop_policy(_Policy())
    try:
        yield
    finally:
        if not inside:  # threads that take turns leave in another order than they came in: the first puts back what was
            asyncio.set_event_loop_policy(policy)
        asyncio._set_running_loop(running)


def run_virtual(main: Coroutine[Any, Any, Result]) -> tuple[Result, float]:
    """Run a coroutine; return (its result, the seconds passed on its loop's clock). Tasks that remain are cancelled.

    Raises the coroutine's exception, and NobodyGoesOn.
    """
    with virtual_asyncio():
        loop = VirtualLoop()
        try:
            asyncio.set_event_loop(loop)
            result = loop.run_until_complete(main)
            return result, loop.time()
        finally:
            try:
                _end_tasks(loop)
            finally:
                asyncio.set_event_loop(None)
                loop.close()


def _end_tasks(loop: VirtualLoop) -> None:
    """Cancel the remaining tasks and let the loop finish them."""
    left = asyncio.all_tasks(loop)
    for task in left:
        task.cancel()
    if left:
        loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
    loop.run_until_complete(loop.shutdown_asyncgens())
