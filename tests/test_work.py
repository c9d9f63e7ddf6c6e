"""Counted work: FLOPs, bytes written and positions, near and far."""

import os

import pytest
import torch
from torch.nn.functional import embedding, linear, scaled_dot_product_attention

from autograder.authoring import CheckFailed
from autograder.course_table import earlier_sources, solution_source
from autograder.grading import limits
from autograder.grading.far import Cell, Far
from autograder.grading.given import named
from autograder.grading.near import Near
from autograder.grading.work import counting
from course.kit import Weights

T, D, F = 7, 8, 5


def counted(function):
    with counting() as work:
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


def test_far_and_near_count_alike():
    topic = "kv_cache"
    source = solution_source(topic)
    far = Far(topic, [Cell("reference", source)], earlier_sources(topic))
    namespace: dict[str, object] = {}
    exec(source, namespace)
    ids = torch.arange(3, 23)[None]
    works = []
    for student in (far, Near(namespace)):
        model = student.model("tiny")
        with student.counting() as work:
            student.generate_cached(model, ids, max_new_tokens=6, block_size=64, temperature=0.0)
        works.append(work)
    far.close()
    assert works[0] == works[1]
    assert works[0].positions == 20 + 6 - 1
    assert works[0].flops > 2 * 25 * 900_000


def test_what_is_outside_the_block_is_not_counted():
    source = "import torch\ndef f(x):\n    return x @ x\n"
    far = Far("softmax", [Cell("f", source)], {})
    far.f(torch.ones(4, 4))
    with far.counting() as work:
        far.f(torch.ones(4, 4))
    far.f(torch.ones(4, 4))
    assert work.flops == 2 * 4**3
    far.close()


def test_clocks_go_forward_with_work():
    far = Far("softmax", [Cell("f", "import torch\ndef f():\n    x = torch.ones(400, 400)\n    for _ in range(30): x = x @ x\n")], {})
    for student in (far, Near({"f": lambda: [torch.ones(300, 300) @ torch.ones(300, 300) for _ in range(30)]})):
        start = student.clock()
        student.f()
        assert student.clock() > start
    far.close()


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


def test_arguments_as_they_are_after_a_call_near_and_far():
    source = "def f(x, y):\n    x[0] = 7\n    return y + 1\n"
    far = Far("softmax", [Cell("f", source)], {})
    namespace: dict[str, object] = {}
    exec(source, namespace)
    for student in (far, Near(namespace)):
        result, (x, y) = student.f(torch.zeros(2), torch.ones(1), _arguments=True)
        assert (result.item(), x.tolist(), y.tolist()) == (2.0, [7.0, 0.0], [1.0])
    far.close()


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


def test_calls_in_the_same_memory_and_results_as_they_are_at_the_end_near_and_far():
    far = Far("transformer", [Cell("cell", REMEMBERS)], {})
    namespace: dict[str, object] = {}
    exec(REMEMBERS, namespace)
    for student in (far, Near(namespace)):
        one, other = (Weights(torch.ones(1), [], torch.full((2,), n), torch.ones(1)) for n in (1.0, 5.0))
        first, second = student.total.again([one, torch.ones(3)], [other, torch.zeros(3)])
        assert (first, second) == (5.0, 2.0)  # not 10: what it remembers is stale
        results = student.counter.series(1, then=[[1], [2], [3]])
        assert [result.item() for result in results] == [9.0, 9.0, 9.0]
        assert one.norm.tolist() == [1.0, 1.0]
    far.close()


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
    far = Far("softmax", [Cell("cell", IN_A_THREAD)], {})
    with pytest.raises(CheckFailed, match="other threads"), far.counting():
        far.softmax(torch.ones(500, 1000))
    far.close()


def test_threads_of_torch_that_a_cell_asks_for_are_not_taken_for_others():
    source = "torch.set_num_threads(2)\ndef softmax(logits):\n    return [logits @ logits for _ in range(20)][-1]\n"
    far = Far("softmax", [Cell("cell", f"import torch\n{source}")], {})
    with far.counting() as work:
        far.softmax(torch.ones(500, 500))
    far.close()
    assert work.flops == 20 * 2 * 500**3
