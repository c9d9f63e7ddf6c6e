"""Ranks that are processes: what they give is what ranks in one process give, and nobody waits for ever."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch
import torch.distributed as dist

from course.kit.gloo import run_gloo
from course.kit.ranks import Deadlock, RankError, run_ranks
from solutions.parallel import ring_all_reduce

pytestmark = pytest.mark.skipif(
    not (dist.is_available() and dist.is_gloo_available()), reason="this torch was built without gloo"
)

TORCHES = """
import torch
import torch.distributed as dist
from solutions.parallel import ring_all_reduce

def both(x, comm):
    theirs = x.clone()
    dist.all_reduce(theirs)
    return ring_all_reduce(x, comm), theirs
"""


def test_the_ring_gives_what_torchs_all_reduce_gives() -> None:
    xs = [torch.randn(7, generator=torch.Generator().manual_seed(rank)) for rank in range(3)]
    run = run_gloo(3, [TORCHES], "both", [(x,) for x in xs])
    here, _ = run_ranks(3, lambda comm: ring_all_reduce(xs[comm.rank], comm))
    for (ours, theirs), same in zip(run.results, here, strict=True):
        assert torch.equal(ours, same)
        torch.testing.assert_close(ours, theirs)
    assert len(run.seconds) == 3
    assert 0 < max(run.seconds) < run.total_seconds


def echo(tensors, comm):  # type: ignore[no-untyped-def]
    for tensor in tensors:
        comm.send(1 - comm.rank, tensor)
    return [comm.recv(1 - comm.rank) for _ in tensors]


def test_any_tensor_arrives_as_it_was() -> None:
    table = torch.arange(1_000_000.0).view(1000, 1000)
    tensors = [
        torch.tensor(3.0).bfloat16(), torch.zeros(2, 0), table[:, 5], table[:3].T, torch.tensor([True, False]), torch.tensor([[2**40]]),
    ]  # fmt: skip
    for got in run_gloo(2, [echo], "echo", [(tensors,)] * 2).results:
        for there, here in zip(got, tensors, strict=True):
            assert (there.dtype, there.shape) == (here.dtype, here.shape)
            assert torch.equal(there, here)
            assert there.untyped_storage().nbytes() == here.nbytes  # a view's table does not come with it


FAULTS = '''
import os, signal, time
import torch

def others(comm): return comm.recv((comm.rank + 1) % comm.world)
def unplugged(comm):
    if comm.rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return others(comm)
def nobody_listens(comm):
    if comm.rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    while True:
        comm.send(1, torch.ones(2))
        time.sleep(0.01)
def without_weights(comm):
    if comm.rank == 1:
        raise ValueError("rank 1 has no weights")
    return comm.recv(1)
def unread(comm): comm.send((comm.rank + 1) % comm.world, torch.ones(2))
def to_itself(comm): comm.send(comm.rank, torch.ones(2))
'''


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        ("others", Deadlock, "rank 0 waits for rank 1; rank 1 waits for rank 0"),
        ("unplugged", RankError, r"rank 1 has ended without an answer \(signal 9\); rank 0 waits for rank 1, which has ended"),
        ("nobody_listens", RankError, r"rank 1 has ended without an answer \(signal 9\); rank 0 sends to rank 1, which has ended"),
        ("without_weights", RankError, r"rank 1: ValueError: rank 1 has no weights \(line \d+ of the cells, in without_weights"),
        ("unread", RankError, "messages that nobody has received: 1 from rank 1 to rank 0, 1 from rank 0 to rank 1"),
        ("to_itself", RankError, "rank 0 of 2 has no neighbour 0"),
        ("nothing", RankError, "the cells define no 'nothing'"),
    ],
)
def test_what_goes_wrong_is_said_in_one_line(name: str, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message) as raised:
        run_gloo(2, [FAULTS], name, deadline_seconds=20 if kind is Deadlock else 100)
    assert "\n" not in str(raised.value)


def test_no_process_and_no_file_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    run = run_gloo(2, ["import os\ndef me(comm): return os.getpid(), os.environ['GLOO_SOCKET_IFNAME']"], "me")
    for pid, interface in run.results:
        assert interface.startswith("lo")
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_asked_is_refused_before_a_process_starts() -> None:
    with pytest.raises(ValueError, match="whole number of 1 or more, got 0"):
        run_gloo(0, [FAULTS], "others")
    with pytest.raises(ValueError, match="arguments for 1 ranks, but world is 2"):
        run_gloo(2, [FAULTS], "others", [()])
    with pytest.raises(ValueError, match="source of 'len' cannot be read"):
        run_gloo(2, [len], "len")
