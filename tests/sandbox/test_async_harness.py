"""Scenarios around a student's coroutines, local and remote, at every isolation level. The recorded events show every fault."""

from __future__ import annotations

import pytest

from autograder.authoring import CheckFailed
from autograder.checking.helpers.served import Answer, Books, loaded, played, reader, whole
from autograder.sandbox.confine.limits import Limits
from course.kit.serving import SamplingParams
from tests.support.ways import student_of, way

__all__ = ["student_of", "way"]
"""Fixtures."""

SOURCE = '''
import asyncio
from course.kit.serving import RequestError, SamplingParams

def refuses(body, *, chat, room):
    if body["n"] > 1:
        raise RequestError("n must be 1", param="n", code="one")
    return SamplingParams(max_tokens=room, stop=("a", "b"))

class Echo:
    def __init__(self, first): self.seen = [first]
    def push(self, piece):
        self.seen.append(piece)
        return len(self.seen)

class AsyncEngine:
    """Runs one request after the other, takes everybody, and forgets nobody."""
    def __init__(self, core, max_waiting):
        self.core, self.queues, self.wake, self.draining = core, {}, asyncio.Event(), False
    async def run(self):
        while self.core.has_work or not self.draining:
            if self.core.has_work:
                for output in await self.core.step():
                    self.queues[output.request_id].put_nowait(output)
            else:
                self.wake.clear()
                await self.wake.wait()
    async def generate(self, request_id, prompt_ids, params):
        self.core.add(request_id, prompt_ids, params)
        self.queues[request_id] = asyncio.Queue()
        self.wake.set()
        for _ in range(params.max_tokens):
            yield await self.queues[request_id].get()
        self.core.abort(request_id)
        del self.queues[request_id]
    def drain(self):
        self.draining = True
        self.wake.set()

class Spins(AsyncEngine):
    async def run(self):
        while not self.core.has_work:
            await asyncio.sleep(0)

async def send_events(receive, send, events):
    await send({"type": "http.response.start", "status": 200, "headers": []})
    async for event in events:
        await send({"type": "http.response.body", "body": event, "more_body": True})
    await send({"type": "http.response.body", "body": b"", "more_body": False})

class Trace:
    def __init__(self, arrival, token_times): self.arrival, self.token_times = arrival, token_times

async def run_load(send, arrivals, clock, sleep):
    traces = []
    for i, arrival in enumerate(arrivals):
        await sleep(arrival - clock())
        traces.append(Trace(clock(), [clock() async for _ in send(i)]))
    return traces
'''


@pytest.fixture
def student(student_of):
    return student_of(SOURCE)


def test_what_a_call_gives_and_what_it_refuses(student):
    came = student.scenario("attempt", student.refuses, [{"n": 1}], {"chat": True, "room": 5}).result
    assert came["returned"]["stop"] == ("a", "b")
    assert came["returned"]["max_tokens"] == 5
    came = student.scenario("attempt", student.refuses, [{"n": 2}], {"chat": True, "room": 5}).result
    assert came["refused"]["status"] == 400
    assert came["refused"]["body"]["error"] == {"message": "n must be 1", "type": "invalid_request_error", "param": "n", "code": "one"}


def test_objects_side_by_side(student):
    order = [[0, "a"], [1, "b"], [0, "c"]]
    due = [[2, [1, "a", "c"]], [2, [2, "b"]], [3, [1, "a", "c"]]]
    assert student.scenario("pushes", student.Echo, [[1], [2]], order, "seen").result == due
    assert student.scenario("pushes", student.Echo, [[SamplingParams(seed=3)]], [[0, "x"]], None).result == [2]


def test_readers_that_stay_are_served(student):
    books = Books(2)
    student.scenario("serve", student.AsyncEngine, books, 9, [reader("a", 0.0, 3), reader("b", 0.011, 2)])
    assert [fed for _, fed in books.steps] == [["a"], ["a", "b"], ["a", "b"]]
    assert (books.wrong, books.notes[-1][2]) == ([], "returned")


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        ([reader("a", 0.0, 9, leaves_after=2), reader("b", 1.0, 2)], "how often a was aborted"),
        ([reader("a", 0.0, 9), reader("b", 0.001, 9), reader("c", 0.002, 9)], "was added while"),
    ],
)
def test_what_is_not_done_is_in_the_books(student, plan, message):
    with pytest.raises(CheckFailed, match=message):
        played(student, Books(1), 1, plan)


def test_an_idle_loop_that_asks_without_end_is_ended(student_of):
    student = student_of(SOURCE, limits=Limits())
    with pytest.raises(RuntimeError, match="wait instead of asking again"):
        student.scenario("serve", student.Spins, Books(1), 1, [reader("a", 1.0, 2)])


def test_a_client_that_hangs_up_and_is_not_heard(student):
    events = [[1.0, b"a"], [1.0, b"b"]]
    whole(Answer(student, events=events), [b"a", b"b"])
    answer = Answer(student, events=events, messages=[[1.5, {"type": "http.disconnect"}]])
    with pytest.raises(CheckFailed, match="types of the messages"):
        whole(answer, [b"a"], ended=False)


def test_a_server_that_says_at_send_that_the_client_is_gone(student):
    answer = Answer(student, events=[[1.0, b"a"], [1.0, b"b"]], send_gone=1)
    assert (answer.error["kind"], answer.error["message"]) == ("OSError", "the client is gone")
    assert answer.times == [0.0]


def test_load_that_waits_for_answers_is_seen(student):
    traces, sends, _ = loaded(student, [0.5, 1.0], [{"gaps": [2.0]}, {"gaps": [0.5]}])
    assert sends == [[0.5, 0], [2.5, 1]]
    assert traces == [[0.5, [2.5]], [2.5, [3.0]]]
