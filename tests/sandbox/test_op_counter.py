"""Counted work: FLOPs, bytes written and positions, local and remote."""

import os
import threading

import pytest
import torch
from torch.nn.functional import embedding, linear, scaled_dot_product_attention

from autograder.authoring import CheckFailed
from autograder.base.course_table import earlier_sources, solution_source
from autograder.checking import mistakes
from autograder.sandbox.confine import limits
from autograder.sandbox.measure.op_counter import counting
from autograder.sandbox.process.local import LocalStudent
from autograder.sandbox.process.remote_student import Cell, RemoteStudent
from autograder.sandbox.protocol.shared_objects import named
from course.kit import Weights

T, D, F = 7, 8, 5


def counted(function, fast_bytes=None):
    with counting(fast_bytes) as work:
        function()
    return work


@pytest.mark.parametrize(
    "product",
    [
        lambda x, w: x @ w.T,
        lambda x, w: linear(x, w),
        lambda x, w: torch.einsum("td,fd->tf", x, w),
        lambda x, w: torch.stack([w @ row for row in x]),
        lambda x, w: torch.addmm(torch.zeros(F), x, w.T),
        lambda x, w: torch.stack([torch.stack([torch.dot(row, out) for out in w]) for row in x]),
        lambda x, w: torch.bmm(x[None], w.T[None]),
        lambda x, w: torch.inner(x, w),
    ],
)
def test_a_product_counts_the_same_however_it_is_written(product):
    assert counted(lambda: product(torch.ones(T, D), torch.ones(F, D))).flops == 2 * T * D * F


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode, torch.enable_grad])
def test_the_mode_of_gradients_changes_no_count(mode):
    with mode():
        assert counted(lambda: torch.ones(T, D) @ torch.ones(D, F)).flops == 2 * T * D * F


def test_attention_of_the_library_counts_as_its_two_products():
    q, k = torch.ones(1, 2, T, D), torch.ones(1, 2, 2 * T, D)
    assert counted(lambda: scaled_dot_product_attention(q, k, k)).flops == 2 * (2 * 2 * T * 2 * T * D)


def test_what_is_written_counts_and_a_view_does_not():
    x = torch.ones(T, D)
    size = 4 * T * D
    assert counted(lambda: x[2:].T.reshape(D, T - 2).transpose(0, 1)).written_bytes == 0
    assert counted(lambda: torch.cat((x, x))).written_bytes == 2 * size
    assert counted(lambda: x.clone()).written_bytes == size
    assert counted(lambda: x * 1).written_bytes == size
    assert counted(lambda: x.T.contiguous()).written_bytes == size
    row = torch.zeros(D)

    def write_row():
        x[3] = row

    assert counted(write_row).written_bytes == 4 * D
    one = torch.tensor([1])
    for write in (
        lambda: x.index_copy_(0, one, row[None]),
        lambda: x.index_put_((one,), row),
        lambda: x.index_fill_(0, one, 2.0),
        lambda: x.scatter_(0, one.expand(1, D), row[None]),
        lambda: x.index_put_((one, one), row[:1]),
    ):
        assert counted(write).written_bytes in (4 * D, 4)

    def write_chosen():
        x.view(1, T, D)[:, one] = row[None, None]

    assert counted(write_chosen).written_bytes == 4 * D


def test_positions_are_the_rows_read_from_the_embedding_of_a_named_model():
    table = named("model", "tiny").weights.embed_tokens
    ids = torch.tensor([[5, 6, 7], [8, 9, 10]])
    for read in (lambda: table[ids], lambda: embedding(ids, table), lambda: table.index_select(0, ids.flatten())):
        assert counted(read).positions == 6
    other = torch.ones(2048, 16)
    assert counted(lambda: other[ids]).positions == 0


def test_remote_and_local_count_alike():
    topic = "kv_cache"
    source = solution_source(topic)
    remote = RemoteStudent(topic, [Cell("reference", source)], earlier_sources(topic))
    namespace: dict[str, object] = {}
    exec(source, namespace)
    ids = torch.arange(3, 23)[None]
    works = []
    for student in (remote, LocalStudent(namespace)):
        model = student.model("tiny")
        with student.counting() as work:
            student.generate_cached(model, ids, max_new_tokens=6, block_size=64, temperature=0.0)
        works.append(work)
    remote.close()
    assert works[0] == works[1]
    assert works[0].positions == 20 + 6 - 1
    assert works[0].flops > 2 * 25 * 900_000


def test_what_is_outside_the_block_is_not_counted():
    source = "import torch\ndef f(x):\n    return x @ x\n"
    remote = RemoteStudent("softmax", [Cell("f", source)], {})
    remote.f(torch.ones(4, 4))
    with remote.counting() as work:
        remote.f(torch.ones(4, 4))
    remote.f(torch.ones(4, 4))
    assert work.flops == 2 * 4**3
    remote.close()


def test_clocks_go_forward_with_work():
    cell = Cell("f", "import torch\ndef f():\n    x = torch.ones(400, 400)\n    for _ in range(30): x = x @ x\n")
    remote = RemoteStudent("softmax", [cell], {})
    for student in (remote, LocalStudent({"f": lambda: [torch.ones(300, 300) @ torch.ones(300, 300) for _ in range(30)]})):
        start = student.clock()
        student.f()
        assert student.clock() > start
    remote.close()


def test_products_with_gradients_on_count_apart():
    x = torch.ones(4, 4)
    with counting() as work:
        with torch.no_grad():
            x @ x
        assert work.grad_flops == 0
        x @ x
    assert (work.flops, work.grad_flops) == (4 * 4**3, 2 * 4**3)


def test_values_that_python_asks_for_count_as_waits():
    x = torch.arange(3)
    assert counted(lambda: [x[0].item(), int(x[1]), bool((x == 2).all())]).waits == 3
    assert counted(lambda: x[x.sum() : x.sum() + 1]).waits == 2
    assert counted(lambda: [x.tolist(), x.numpy(), x[0].tolist()]).waits == 3
    assert counted(lambda: (x + 1).masked_fill(x > 1, 0)).waits == 0
    assert counted(lambda: linear(torch.ones(2, 3), torch.ones(1, 3)).squeeze().tolist()).waits == 1


def test_arguments_as_they_are_after_a_call_local_and_remote():
    source = "def f(x, y):\n    x[0] = 7\n    return y + 1\n"
    remote = RemoteStudent("softmax", [Cell("f", source)], {})
    namespace: dict[str, object] = {}
    exec(source, namespace)
    for student in (remote, LocalStudent(namespace)):
        result, (x, y) = student.f(torch.zeros(2), torch.ones(1), _arguments=True)
        assert (result.item(), x.tolist(), y.tolist()) == (2.0, [7.0, 0.0], [1.0])
    remote.close()


REMEMBERS = """
_known = {}

def total(weights, x):
    if id(weights) not in _known:
        _known[id(weights)] = weights.norm.sum().item()
    return _known[id(weights)] + x.sum().item()

def counter(start):
    kept = torch.zeros(1)

    def step(by):
        kept.add_(by + start)
        return kept

    return step

import torch
"""


def test_calls_in_the_same_memory_and_results_as_they_are_at_the_end_local_and_remote():
    remote = RemoteStudent("transformer", [Cell("cell", REMEMBERS)], {})
    namespace: dict[str, object] = {}
    exec(REMEMBERS, namespace)
    for student in (remote, LocalStudent(namespace)):
        one, other = (Weights(torch.ones(1), [], torch.full((2,), n), torch.ones(1)) for n in (1.0, 5.0))
        first, second = student.total.again([one, torch.ones(3)], [other, torch.zeros(3)])
        assert (first, second) == (5.0, 2.0)  # not 10: what it remembers is stale
        results = student.counter.series(1, then=[[1], [2], [3]])
        assert [result.item() for result in results] == [9.0, 9.0, 9.0]
        assert one.norm.tolist() == [1.0, 1.0]
    remote.close()


IN_A_THREAD = """
import threading

def softmax(logits):
    found = []
    worker = threading.Thread(target=lambda: found.append([logits.softmax(dim=-1) for _ in range(300)][-1]))
    worker.start()
    worker.join()
    return found[0]
"""


@pytest.mark.skipif(limits.main_thread_seconds(os.getpid()) is None, reason="this system does not tell the time of a thread")
def test_work_in_another_thread_is_seen_by_the_processors_time():
    remote = RemoteStudent("softmax", [Cell("cell", IN_A_THREAD)], {})
    with pytest.raises(CheckFailed, match="other threads") as failed, remote.counting():
        remote.softmax(torch.ones(500, 1000))
    assert not mistakes.tells({"check": mistakes.what_was_seen("fail", failed.value.what, failed.value.values)}), "a time names no mistake"
    remote.close()


LATE = """
import torch
class Late(torch.Tensor):
    def detach(self): return self.work()
def late(x):
    result = torch.zeros(2).as_subclass(Late)
    result.work = lambda: x @ x
    return result
real, waiting = torch.Tensor.permute, []
def permute(self, order):
    while waiting: waiting.pop()()
    return real(self, order)
torch.Tensor.permute = permute
def patched(x):
    waiting.append(lambda: x @ x)
    return torch.zeros(2, 3).T
"""


def test_work_that_is_left_until_the_answer_is_sent_is_not_done_or_is_counted():
    remote = RemoteStudent("softmax", [Cell("probe", LATE)], {})
    try:
        with remote.counting() as work:
            assert remote.late(torch.ones(8, 8)).tolist() == [0.0, 0.0]
        assert work.flops == 0
        with remote.counting() as work:
            remote.patched(torch.ones(8, 8))
        assert work.flops == 2 * 8**3
        with remote.counting(python=True) as work:
            remote.late(torch.ones(8, 8))
        assert work.waits == 0
    finally:
        remote.close()


def test_what_is_sent_back_takes_no_memory_of_pythons():
    remote = RemoteStudent("softmax", [Cell("probe", "import torch\ndef large(): return torch.ones(500_000)")], {})
    try:
        with remote.counting(python=True) as work:
            remote.large()
        assert work.python_bytes < 100_000
        assert work.peak_bytes == 2_000_000
        assert work.waits == 0
    finally:
        remote.close()


def grown(n):
    small = torch.empty(1)
    small.untyped_storage().resize_(4 * n)
    return small.as_strided((n,), (1,)).fill_(1.0)


def test_a_storage_that_grows_by_itself_is_seen_where_it_is_used():
    work = counted(lambda: grown(1000))
    assert work.peak_bytes == work.largest_bytes == 4000


def test_threads_of_torch_that_a_cell_asks_for_are_not_taken_for_others():
    source = "torch.set_num_threads(2)\ndef softmax(logits):\n    return [logits @ logits for _ in range(20)][-1]\n"
    remote = RemoteStudent("softmax", [Cell("cell", f"import torch\n{source}")], {})
    with remote.counting() as work:
        remote.softmax(torch.ones(500, 500))
    remote.close()
    assert work.flops == 20 * 2 * 500**3


# ---- memory --------------------------------------------------------------------------------------------------------

N = 1000  # float32 numbers, 4,000 bytes
SIZE = 4 * N


def one_after_the_other():
    for _ in range(5):
        torch.zeros(N)


def all_at_once():
    kept = [torch.zeros(N) for _ in range(5)]
    return kept[0]


def grown_by_cat():
    text = torch.zeros(N)
    for _ in range(3):
        text = torch.cat((text, torch.zeros(N)))


def a_view_keeps_its_storage():
    x = torch.zeros(N)
    few = x[:2]
    del x
    torch.zeros(N)
    return few


@pytest.mark.parametrize(
    ("function", "peak", "largest"),
    [
        (one_after_the_other, 1, 1),
        (all_at_once, 5, 1),
        (grown_by_cat, 3 + 1 + 4, 4),  # the text so far, what is new, and the two of them again
        (a_view_keeps_its_storage, 2, 1),
        (lambda: torch.zeros(N).view(10, -1).T[3:].unsqueeze(0).expand(7, -1, -1), 1, 1),
        (lambda: torch.zeros(N).add_(1).mul_(2), 1, 1),
        (lambda: torch.tensor([0.0] * N), 1, 1),
        (lambda: torch.zeros(1).expand(N).contiguous(), 1 + 1 / N, 1),
        (lambda: torch.empty(0).resize_(N).resize_(2 * N).resize_(N), 2, 2),
        (lambda: torch.mm(torch.zeros(N, 1), torch.zeros(1, 1), out=torch.empty(0)), 2 + 1 / N, 1),
        (lambda: torch.zeros(N, dtype=torch.float64), 2, 2),
    ],
)
def test_peak_is_what_lives_at_one_time(function, peak, largest):
    work = counted(function)
    assert (work.peak_bytes, work.largest_bytes) == (round(peak * SIZE), largest * SIZE)


def test_what_the_caller_gives_is_not_made_inside():
    x = torch.zeros(N)
    work = counted(lambda: x.add_(1).view(-1, 10).sum(dim=0))
    assert (work.peak_bytes, work.largest_bytes) == (40, 40)


def test_what_ends_while_nothing_is_counted_is_gone():
    counter, kept = counting(), []
    with counter:
        kept.append(torch.zeros(N))
    kept.clear()
    with counter as work:
        torch.zeros(N)
        assert work.peak_bytes == SIZE
        kept += [torch.zeros(N), torch.zeros(N)]
    assert work.peak_bytes == 2 * SIZE


def test_what_another_thread_lets_go_is_gone():
    kept = []
    with counting() as work:
        kept.append(torch.zeros(N))
        thread = threading.Thread(target=kept.clear)
        thread.start()
        thread.join()
        torch.zeros(N)
    assert work.peak_bytes == SIZE


def test_addresses_are_no_names_on_the_meta_device():
    x = torch.zeros(N, device="meta")
    work = counted(lambda: [x + 1, x + 2, x.view(10, -1)])
    assert work.peak_bytes == 2 * SIZE


def slow(function, fast_bytes=SIZE - 1):
    return counted(function, fast_bytes).slow_bytes


def test_slow_is_what_is_larger_than_the_fast_memory():
    x = torch.zeros(N)
    assert slow(lambda: x * 2) == 2 * SIZE  # read and written
    assert slow(lambda: x * 2, fast_bytes=SIZE) == 0
    assert slow(lambda: x.sum()) == SIZE
    assert slow(lambda: torch.zeros(N)) == SIZE
    assert counted(lambda: x * 2).slow_bytes == 0


def test_a_view_costs_nothing_until_its_elements_are_read():
    x = torch.zeros(10, N // 10)
    few = SIZE // 10
    assert slow(lambda: x[3].view(2, -1).T.expand(5, -1, -1)) == 0
    assert slow(lambda: x[3] * 2) == few  # the storage is slow, the row's product is not
    assert slow(lambda: x[3].expand(50, -1).sum(dim=0)) == few
    assert slow(lambda: x[:, :1].sum()) == 40
    assert slow(lambda: x[3].tolist()) == 0  # which is not torch's to copy


def test_the_same_elements_twice_are_read_once():
    x = torch.zeros(N)
    assert slow(lambda: (x * x).sum()) == 3 * SIZE  # read, written, read
    assert slow(lambda: torch.cat((x[:10], x[10:20]))) == 80


def test_in_place_what_is_read_and_what_is_only_written():
    x, y = torch.zeros(N), torch.zeros(N)
    assert slow(lambda: x.add_(y)) == 3 * SIZE
    assert slow(lambda: x.copy_(y)) == 2 * SIZE
    for write in (x.zero_, lambda: x.fill_(2.0), x.uniform_):
        assert slow(write) == SIZE
    assert slow(lambda: torch.add(y, y, out=x)) == 2 * SIZE

    def write_a_part():
        x[:10] = y[:10]

    assert slow(write_a_part) == 2 * 40


def test_a_partial_write_and_a_gather_count_what_they_move():
    table, rows = torch.zeros(100, N // 100), torch.tensor([3, 5])
    row = SIZE // 100
    for read in (lambda: table[rows], lambda: embedding(rows, table), lambda: table.index_select(0, rows), lambda: table.take(rows)):
        assert slow(read) in (2 * row, 2 * 4)
    for write in (lambda: table.index_copy_(0, rows, torch.zeros(2, N // 100)), lambda: table.index_put_((rows,), torch.zeros(2, 1))):
        assert slow(write) == 2 * row


def test_room_that_is_only_made_moves_nothing():
    x = torch.zeros(N)
    for allocate in (lambda: torch.empty(N), lambda: torch.empty_like(x), lambda: x.new_empty(N)):
        assert slow(allocate) == 0
    assert slow(lambda: torch.zeros_like(x)) == SIZE  # written; of x, only the shape is asked


KEEPS = """
import torch

kept = []

def products(x, n):
    for i in range(n):
        kept.append(x[i] @ x[i])
    return len(kept)

def drop():
    kept.clear()
"""


def test_memory_local_and_remote():
    remote = RemoteStudent("softmax", [Cell("cell", KEEPS)], {})
    namespace: dict[str, object] = {}
    exec(KEEPS, namespace)
    works = []
    for student in (remote, LocalStudent(namespace)):
        x = torch.zeros(6, 30, 30)
        student.products(x, 1)  # what was made before is not counted
        with student.counting(fast_bytes=SIZE) as work:
            student.products(x, 6)
            student.drop()
            student.products(x, 2)
        works.append(work)
        with student.counting() as again:
            student.products(x, 2)
        assert (again.peak_bytes, again.slow_bytes) == (2 * 3600, 0)
        student.drop()
    remote.close()
    assert works[0] == works[1]
    assert (works[0].peak_bytes, works[0].largest_bytes) == (6 * 3600, 3600)
    assert works[0].slow_bytes == 8 * 3600  # x is slow: each product reads one of its matrices, once, and gives what is fast
