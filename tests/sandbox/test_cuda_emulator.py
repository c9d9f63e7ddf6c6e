"""The CUDA emulator: what it records, replays and counts, and what it refuses as CUDA does."""

import pytest
import torch

from autograder.sandbox.measure.cuda_emulator import EmulatedCuda


def warm(x):
    return x @ x


def recorded(gpu, work):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = work()
    return graph, out


def test_a_replay_runs_on_the_same_memory_and_recording_runs_nothing():
    with EmulatedCuda() as gpu:
        x, count = gpu.on_gpu([torch.eye(2), torch.zeros(())])
        warm(x)

        def work():
            count.add_(1)
            return (x @ x) * count

        graph, out = recorded(gpu, work)
        assert float(count) == 0.0
        assert bool(out.isnan().all())
        graph.replay()
        x.copy_(gpu.on_gpu(2 * torch.eye(2)))
        graph.replay()
        assert (gpu.launches.captures, gpu.launches.replays) == (1, 2)
    assert torch.equal(out, 8 * torch.eye(2))
    assert float(count) == 2.0


def test_tensors_say_where_they_lie_and_whatever_is_made_of_them_too():
    with EmulatedCuda() as gpu:
        x = gpu.on_gpu(torch.ones(3))
        made = torch.zeros(2, device=x.device)
        assert [t.device.type for t in (x, x[0], x + 1, made, x.cpu(), torch.ones(2), torch.ones(2).to("cuda"))] == [
            "cuda", "cuda", "cuda", "cuda", "cpu", "cpu", "cuda",
        ]  # fmt: skip
        assert x.is_cuda
        assert not x.is_cpu
    assert not x.is_cuda


@pytest.mark.parametrize(
    ("work", "message"),
    [
        (lambda x: x + torch.ones(3), "two devices"),
        (lambda x: torch.where(torch.tensor([True, False, True]), x, x), "two devices"),
    ],
)
def test_two_devices_do_not_meet(work, message):
    with EmulatedCuda() as gpu, pytest.raises(RuntimeError, match=message):
        work(gpu.on_gpu(torch.ones(3)))


@pytest.mark.parametrize(
    "work",
    [
        lambda x: x[0, 0].item(),
        lambda x: int(x[0, 0]),
        lambda x: bool(x[0, 0] > 0),
        lambda x: x.tolist(),
        lambda x: x.cpu(),
        lambda x: torch.cuda.synchronize(),
        lambda x: x.copy_(torch.ones(2, 2)),
        lambda x: torch.tensor(3, device=x.device),
        lambda x: recorded(None, lambda: x + 1),
    ],
)
def test_what_cuda_refuses_while_it_records_is_refused_and_allowed_before(work):
    with EmulatedCuda() as gpu:
        x = gpu.on_gpu(torch.ones(2, 2))
        warm(x)
        work(x)
        with pytest.raises(RuntimeError, match="capturing"):
            recorded(gpu, lambda: work(x))


def test_a_librarys_first_product_is_refused_inside_a_recording():
    with EmulatedCuda() as gpu:
        x = gpu.on_gpu(torch.ones(2, 2))
        with pytest.raises(RuntimeError, match="first product"):
            recorded(gpu, lambda: x @ x)


def test_waits_and_operations_are_counted():
    with EmulatedCuda() as gpu:
        x = gpu.on_gpu(torch.ones(2, 2))
        before = gpu.launches.launches
        y = (x + 1) @ x
        y.add_(1)
        assert gpu.launches.launches - before == 3
        y.view(4).sum().item()
        torch.cuda.synchronize()
        assert gpu.launches.waits == 2


def filled_in_a_stream(x, *, before, after):
    """What a stream of its own adds, and what the current one makes of it, with and without waiting."""
    y, side = x + 1, torch.cuda.Stream()
    if before:
        side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        y.add_(1)
    if after:
        torch.cuda.current_stream().wait_stream(side)
    return y.mul_(2)


@pytest.mark.parametrize(("before", "after"), [(False, True), (True, False)])
def test_what_another_stream_writes_is_refused_until_it_is_waited_for(before, after):
    with EmulatedCuda() as gpu, pytest.raises(RuntimeError, match="has not waited"):
        filled_in_a_stream(gpu.on_gpu(torch.ones(3)), before=before, after=after)


def test_streams_that_wait_share_their_tensors():
    with EmulatedCuda() as gpu:
        x = gpu.on_gpu(torch.ones(3))
        assert filled_in_a_stream(x, before=True, after=True).tolist() == [6, 6, 6]
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            y = x + 1
        torch.cuda.synchronize()
        assert (y + 1).tolist() == [3, 3, 3]
