"""A worker for each rank, and the grader between them: local and remote, at every isolation level."""

from __future__ import annotations

import os
import signal
import time

import pytest
import torch

from autograder.authoring import CheckFailed
from autograder.base.errors import InfrastructureFault
from autograder.sandbox.confine.limits import Limits
from autograder.sandbox.process import ranks
from autograder.sandbox.process.channel import WorkerChannel
from autograder.sandbox.protocol.worker_errors import WorkerDied
from course.kit import ranks as kit_ranks
from tests.support.ways import student_of, way

__all__ = ["student_of", "way"]
"""Fixtures."""

SOURCE = '''
import torch

def ring_sum(x, comm):
    right, left = (comm.rank + 1) % comm.world, (comm.rank - 1) % comm.world
    total, piece = x.clone(), x
    for _ in range(comm.world - 1):
        comm.send(right, piece)
        piece = comm.recv(left)
        total = total + piece
    return total

def all_wait(x, comm): return comm.recv((comm.rank + 1) % comm.world)
def one_leaves(x, comm): return x if comm.rank == 1 else comm.recv(1)
def one_raises(x, comm):
    if comm.rank == 1: raise ValueError("rank 1 has no weights")
    return comm.recv(1)
def one_spins(x, comm):
    while comm.rank == 1: pass
    return comm.recv(1)
def unread(x, comm):
    comm.send((comm.rank + 1) % comm.world, x)
    return x
def to_itself(x, comm): return comm.send(comm.rank, x)
SHARED = {}
def floods(x, comm):
    while True:
        try: comm.send(1 - comm.rank, x)
        except RuntimeError: return comm.rank
KEPT = []
class Thing: pass
def keeps(x, comm):
    KEPT.append(comm)
    return Thing()
def waits_for_earlier(x, comm): return KEPT[comm.rank % len(KEPT)].recv(1 - comm.rank)
def cheat(x, comm):
    SHARED[comm.rank] = x
    return sum(SHARED[rank] for rank in range(comm.rank + 1))
'''


@pytest.fixture
def student(student_of):
    return student_of(SOURCE)


def inputs(world: int) -> list[tuple[torch.Tensor]]:
    return [(torch.arange(3.0) + rank,) for rank in range(world)]


@pytest.mark.parametrize("world", [1, 2, 3])
def test_messages_arrive_and_are_counted(student, world):
    results, traffic = student.ranks(world).each("ring_sum", inputs(world))
    want = sum(x for (x,) in inputs(world))
    assert all(torch.equal(result, want) for result in results)
    assert traffic.messages == [world - 1] * world
    assert traffic.sent_bytes == [12 * (world - 1)] * world
    assert {(src, dst) for src, dst, _ in traffic.log} == {(r, (r + 1) % world) for r in range(world) if world > 1}


def test_a_deadlock_is_a_verdict_at_once(student):
    two = student.ranks(2)
    two.each("ring_sum", inputs(2))
    start = time.monotonic()
    with pytest.raises(CheckFailed, match="no rank can continue: rank 0 waits for rank 1; rank 1 waits for rank 0"):
        two.each("all_wait", inputs(2))
    with pytest.raises(CheckFailed, match="rank 0 waits for rank 1, which has ended"):
        two.each("one_leaves", inputs(2))
    assert time.monotonic() - start < 10
    assert len(two.each("ring_sum", inputs(2))[0]) == 2


def test_what_a_rank_raised_comes_before_what_others_waited_for(student):
    with pytest.raises(ValueError, match="rank 1 has no weights"):
        student.ranks(3).each("one_raises", inputs(3))


def test_a_message_that_nobody_reads_and_one_to_nobody(student):
    with pytest.raises(CheckFailed, match="nobody has received: 1 from rank 0 to rank 1"):
        student.ranks(2).each("unread", inputs(2))
    with pytest.raises(RuntimeError, match="rank 0 of 2 has no neighbour 0"):
        student.ranks(2).each("to_itself", inputs(2))


def test_a_rank_that_does_not_end_is_stopped(student_of):
    student = student_of(SOURCE, limits=Limits(call_seconds=0.5))
    with pytest.raises(WorkerDied, match="does it end"):
        student.ranks(2).each("one_spins", inputs(2))


def test_what_waits_in_the_switch_is_bounded(student, monkeypatch):
    monkeypatch.setattr(kit_ranks, "MAX_WAITING", 20)
    with pytest.raises(CheckFailed, match="rank 1 sends without end: 20 messages"):
        student.ranks(2).each("floods", inputs(2))
    monkeypatch.setattr(kit_ranks, "MAX_WAITING_BYTES", 100)
    with pytest.raises(CheckFailed, match="sends without end: 8 messages"):
        student.ranks(2).each("floods", inputs(2))
    assert len(student.ranks(3).each("ring_sum", inputs(3))[0]) == 3


def test_a_communicator_that_was_kept_waits_for_nobody(student):
    held, _ = student.ranks(2).each("keeps", inputs(2))
    with pytest.raises(RuntimeError, match="has ended"):
        student.ranks(2).each("waits_for_earlier", inputs(2))
    assert len(held) == 2


def test_a_fault_of_ours_is_not_taken_for_a_ranks(student, monkeypatch):
    class Broken(ranks.RemoteFunction):
        def __call__(self, x, comm):
            raise InfrastructureFault("no worker could be started") if comm.rank == 1 else ValueError("rank 0 goes first")

    monkeypatch.setattr(ranks, "RemoteFunction", Broken)
    with pytest.raises(InfrastructureFault):
        student.ranks(2).each("ring_sum", inputs(2))


def test_a_rank_whose_worker_is_killed_while_its_cells_run_has_no_error_of_the_students(student, way, monkeypatch):
    if way == "local":
        return
    with monkeypatch.context() as patch:
        real = WorkerChannel.request

        def request(connection, op, *arguments, **more):
            if op == "cell":
                os.kill(connection.pid, signal.SIGKILL)
            return real(connection, op, *arguments, **more)

        patch.setattr(WorkerChannel, "request", request)
        with pytest.raises(WorkerDied, match="in a rank's worker") as died:
            student.ranks(2).each("ring_sum", inputs(2))
    assert died.value.outcome == "crashed"
    assert len(student.ranks(2).each("ring_sum", inputs(2))[0]) == 2


def test_ranks_have_nothing_in_common_where_it_counts(student, way):
    if way == "local":
        assert len(student.ranks(2).each("cheat", inputs(2))[0]) == 2
        return
    with pytest.raises(KeyError):
        student.ranks(2).each("cheat", inputs(2))


def test_what_a_rank_does_is_counted_and_what_it_changes_is_reported(student_of):
    student = student_of("""
import torch
def multiplies(x, comm):
    for _ in range(1 + comm.rank): x @ x
    return x
def writes(x, comm): return x.add_(1)
""")
    two, xs = student.ranks(2), [(torch.eye(10),)] * 2
    for rank in range(2):
        with two.counting(rank) as work:
            two.each("multiplies", xs, _unchanged=True)
        assert work.flops == 2000 * (1 + rank)
    with pytest.raises(CheckFailed, match="changed"):
        two.each("writes", xs, _unchanged=True)
