"""Many calls in one go: local and remote, at every isolation level."""

from __future__ import annotations

import pytest

from autograder.sandbox.confine import budget
from autograder.sandbox.protocol.batch import CallBatch
from autograder.sandbox.protocol.worker_errors import WorkerDied
from tests.support.ways import student_of, way

__all__ = ["student_of", "way"]
"""Fixtures."""

SOURCE = '''
class Pool:
    def __init__(self, n): self.free, self.log = list(range(n)), []
    def take(self):
        if not self.free: raise MemoryError("no block of 2 is free")
        self.log.append(self.free[0])
        return self.free.pop(0)
class Row:
    def __init__(self, pool): self.pool, self.blocks, self.limit = pool, [], 9
    def grow(self, n=1):
        for _ in range(n): self.blocks.append(self.pool.take())
        return len(self.blocks)
def add(a, b): return a + b
def ask(f, x): return f(x)
class NotPlayed(Exception): pass
def pretends(): raise NotPlayed("not played")
def first(items): return next(iter(items))
def endless():
    while True: pass
'''


@pytest.fixture
def student(student_of):
    return student_of(SOURCE)


def test_steps_use_what_earlier_ones_gave_and_answers_are_of_their_moment(student):
    batch = CallBatch()
    pool = batch.call("Pool", 5)
    row = batch.call("Row", pool)
    grown = batch.method(row, "grow", n=2)
    early = batch.get(row, "blocks")
    batch.method(row, "grow")
    late = batch.get(row, "blocks")
    batch.set(row, "limit", [grown, {"late": late}])
    limit = batch.get(row, "limit")
    total = batch.call("add", grown, 40)
    outcomes = student.play(batch)
    assert [outcome.error for outcome in outcomes] == [None] * 9
    assert outcomes[early.step].value == [0, 1]
    assert outcomes[late.step].value == [0, 1, 2]
    assert outcomes[limit.step].value == [2, {"late": [0, 1, 2]}]
    assert outcomes[total.step].value == 42
    assert outcomes[row.step].value.blocks == [0, 1, 2]


def test_handles_batches_and_calls_go_together(student):
    pool = student.Pool(3)
    batch = CallBatch()
    row = batch.call("Row", pool)
    batch.method(row, "grow")
    student.play(batch)
    assert pool.log == [0]


def refused() -> tuple[CallBatch, int, int]:
    batch = CallBatch()
    pool = batch.call("Pool", 1)
    row = batch.call("Row", pool)
    wrong = batch.method(row, "grow", 2)
    batch.call("add", wrong, 1)
    free = batch.call("add", 1, 1)
    return batch, wrong.step, free.step


def test_an_exception_ends_a_batch(student):
    batch, wrong, _ = refused()
    outcomes = student.play(batch)
    assert isinstance(outcomes[wrong].error, MemoryError)
    assert [outcome.played for outcome in outcomes] == [True, True, True, False, False]


def test_or_is_kept_and_only_what_leans_on_it_is_not_played(student):
    batch, wrong, free = refused()
    outcomes = student.play(batch, stop=False)
    assert isinstance(outcomes[wrong].error, MemoryError)
    assert [outcome.played for outcome in outcomes] == [True, True, True, False, True]
    assert outcomes[free].value == 2


def test_no_answer_can_pretend_that_it_was_not_asked_for(student):
    batch = CallBatch()
    batch.call("pretends")
    [outcome] = student.play(batch)
    assert outcome.played
    assert "not played" in str(outcome.error)


def test_a_stop_iteration_is_an_outcome(student):
    batch = CallBatch()
    batch.call("first", [])
    [outcome] = student.play(batch)
    assert isinstance(outcome.error, StopIteration)


def test_functions_of_the_check_are_called_back(student):
    batch = CallBatch()
    one = batch.call("add", 1, 2)
    two = batch.call("ask", lambda x: 10 * x, one)
    three = batch.call("ask", lambda x: x + 1, two)
    assert student.play(batch)[three.step].value == 31


def test_long_batches_run_to_their_end(student):
    batch = CallBatch()
    last = batch.call("add", 0, 0)
    for _ in range(3000):
        last = batch.call("add", last, 1)
    assert student.play(batch)[last.step].value == 3000


def test_each_step_counts(student, monkeypatch):
    monkeypatch.setattr(budget, "MAX_REQUESTS", 50)
    student.begin_check()
    batch = CallBatch()
    for _ in range(60):
        batch.call("add", 1, 1)
    with pytest.raises(WorkerDied, match="asked 50 times"):
        student.play(batch)


def test_a_step_that_does_not_end_is_stopped(student):
    batch = CallBatch()
    batch.call("endless")
    with pytest.raises(WorkerDied, match="does it end"):
        student.play(batch)
