"""Coroutines of a student's, awaited where the student's code is: local and remote, at every isolation level."""

from __future__ import annotations

import time

import pytest

from autograder.sandbox.confine.limits import Limits
from autograder.sandbox.protocol.worker_errors import WorkerDied
from tests.support.ways import student_of, way

__all__ = ["student_of", "way"]
"""Fixtures."""

SOURCE = '''
import asyncio

async def slow(x):
    await asyncio.sleep(3600)
    return x + 1

async def ticks(n):
    for i in range(n):
        await asyncio.sleep(2)
        yield i

async def queue():
    q = asyncio.Queue()
    async def put():
        for i in range(3):
            await asyncio.sleep(1)
            q.put_nowait(i)
    task = asyncio.create_task(put())
    got = [await q.get() for _ in range(3)]
    try:
        await asyncio.wait_for(q.get(), 5)
    except asyncio.TimeoutError:
        got.append("late")
    await task
    return got

async def stuck(): await asyncio.Event().wait()
async def endless():
    while True: await asyncio.sleep(1)
async def spins():
    while True: pass
async def no_number():
    asyncio.get_running_loop().time = lambda: float("nan")
    yield 1
async def back():
    for seconds in (2.0, 1.0):
        asyncio.get_running_loop().time = lambda: seconds
        yield seconds
async def bad(): raise ValueError("p is 2")
async def threaded(): return await asyncio.to_thread(lambda: 5)
async def send_all(send, n):
    for i in range(n): await send({"i": i})
def by_itself(x): return asyncio.run(slow(x))
def plain(x): return x
class Server:
    def __init__(self): self.seen = []
    async def take(self, x):
        await asyncio.sleep(1)
        self.seen.append(x)
        return len(self.seen)
'''


@pytest.fixture
def student(student_of):
    return student_of(SOURCE)


def test_an_hour_of_sleep_is_an_hour_of_the_loops_clock_and_no_time(student):
    start = time.monotonic()
    got = student.slow.awaited(4)
    assert (got.result, got.seconds) == (5, 3600.0)
    assert student.by_itself(4) == 5
    assert time.monotonic() - start < 60


def test_queues_tasks_timeouts_and_threads(student):
    got = student.queue.awaited()
    assert (got.result, got.seconds) == ([0, 1, 2, "late"], 8.0)
    assert student.threaded.awaited().result == 5
    assert student.plain.awaited(3).result == 3


def test_an_async_generator_is_read_with_the_time_of_each_item(student):
    got = student.ticks.awaited(3)
    assert (got.result, got.times) == ([0, 1, 2], [2.0, 4.0, 6.0])


def test_a_coroutine_that_came_back_and_a_method_are_awaited(student):
    assert student.slow(1).awaited().result == 2
    server = student.Server()
    assert server.take.awaited("a").result == 1
    assert server.take.awaited("b").result == 2
    assert server.seen == ["a", "b"]


def test_waiting_for_nobody_is_reported_at_once(student):
    start = time.monotonic()
    with pytest.raises(RuntimeError, match="no task can ever continue"):
        student.stuck.awaited()
    assert time.monotonic() - start < 10


def test_exceptions_come_through(student):
    with pytest.raises(ValueError, match="p is 2"):
        student.bad.awaited()


def test_functions_of_the_checks_are_awaited_too(student):
    sent = []

    async def send(message):
        sent.append(message)

    student.send_all.awaited(send, 3)
    assert sent == [{"i": 0}, {"i": 1}, {"i": 2}]


@pytest.mark.parametrize("name", ["no_number", "back"])
def test_a_clock_that_no_loop_has_is_nonsense(student, name):
    with pytest.raises(WorkerDied, match="nonsense"):
        getattr(student, name).awaited()


@pytest.mark.parametrize("name", ["endless", "spins"])
def test_what_does_not_end_is_stopped(student_of, name):
    student = student_of(SOURCE, limits=Limits(call_seconds=0.5))
    with pytest.raises(WorkerDied, match="does it end") as died:
        getattr(student, name).awaited()
    assert died.value.outcome == "timeout"
