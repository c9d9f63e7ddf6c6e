"""Many calls at once give what one call after the other gives: in this process and in a worker."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
import torch

from autograder.authoring import CheckFailed, raises
from autograder.sandbox.process.local import LocalStudent
from autograder.sandbox.process.remote_student import Cell, RemoteStudent
from autograder.sandbox.protocol import wire
from autograder.sandbox.protocol.worker_errors import StudentRaised, WorkerDied
from tests.certification.test_attacks import FIND_WORKER
from tests.support.submissions import QUICK

Start = Callable[[str], RemoteStudent | LocalStudent]


@pytest.fixture
def remote() -> Iterator[Callable[[str], RemoteStudent]]:
    started: list[RemoteStudent] = []

    def start(source: str) -> RemoteStudent:
        started.append(RemoteStudent("softmax", [Cell("probe", source)], {}, limits=QUICK.limits))
        started[-1].start()
        assert started[-1].cell_outcomes == {}
        return started[-1]

    yield start
    for each in started:
        each.close()


def local(source: str) -> LocalStudent:
    namespace: dict[str, object] = {}
    exec(source, namespace)
    return LocalStudent(namespace)


@pytest.fixture(params=["local", "remote"])
def student(request, remote) -> Start:
    return remote if request.param == "remote" else local


def test_inputs_and_results_come_in_order(student):
    inputs = [torch.arange(n) for n in range(40)]
    pairs = list(student("def f(x):\n    return x.sum() + 1").f.each(x for x in inputs))
    assert [given is x for (given, _), x in zip(pairs, inputs, strict=True)] == [True] * 40
    assert [int(result) for _, result in pairs] == [n * (n - 1) // 2 + 1 for n in range(40)]
    assert list(student("def f(x): return x").f.each([])) == []


def test_inputs_larger_than_what_is_sent_together(student):
    inputs = [torch.full((size,), float(size)) for size in (1, 300_000, 5_000, 5_000, 1, 400_000)]
    results = [result for _, result in student("def f(x):\n    return x + 1").f.each(inputs)]
    assert all(torch.equal(result, x + 1) for result, x in zip(results, inputs, strict=True))


def test_an_exception_comes_with_the_input_that_raised_it(student):
    function = student("def f(x):\n    if x == 2:\n        raise KeyError('two')\n    return x").f
    seen = []
    with pytest.raises(KeyError, match="two"):
        seen.extend(function.each(range(5)))
    assert seen == [(0, 0), (1, 1)]
    assert function(4) == 4


def test_stop_iteration_does_not_look_like_the_end(student):
    function = student("def f(x):\n    if x == 1:\n        raise StopIteration\n    return x").f
    with pytest.raises(RuntimeError):
        list(function.each(range(3)))


def test_an_input_that_is_changed_is_reported(student):
    function = student("def f(x):\n    return x.mul_(2) if len(x) == 2 else 2 * x").f
    inputs = [torch.ones(3), torch.ones(2)]
    with pytest.raises(CheckFailed, match="changed its argument 1 in place"):
        list(function.each(inputs, _unchanged=True))
    with pytest.raises(CheckFailed, match="random state"):
        list(student("import torch\ndef f(x):\n    return torch.rand(x)").f.each([1], _rng_unchanged=True))


def test_a_loop_may_be_left_and_may_call_other_functions(student):
    both = student("def f(x):\n    return x + 1\ndef g(x):\n    return 10 * x")
    for given, result in both.f.each(range(30)):
        assert both.g(given) == 10 * given
        if result == 7:
            break
    assert both.g(3) == 30
    assert [result for _, result in both.f.each(range(3))] == [1, 2, 3]


def test_inputs_may_be_what_another_function_gave(student):
    both = student("def f(x):\n    return x + 1\ndef g(x):\n    return 10 * x")
    assert list(both.f.each(both.g(x) for x in range(3))) == [(0, 1), (10, 11), (20, 21)]


def test_what_was_answered_before_the_process_ended_counts(remote):
    function = remote("import os\ndef f(x):\n    return os._exit(0) if x == 3 else x").f
    seen = []
    with pytest.raises(WorkerDied) as died:
        seen.extend(result for _, result in function.each(range(6)))
    assert died.value.outcome == "crashed"
    assert seen == [0, 1, 2]
    assert [result for _, result in function.each([1, 2])] == [1, 2]


def test_an_endless_call_among_many_is_waited_for_once(remote):
    function = remote("def f(x):\n    while x == 1:\n        pass\n    return x").f
    start = time.monotonic()
    seen = []
    for _ in range(3):
        with pytest.raises(WorkerDied, match="does it end") as died:
            seen.extend(result for _, result in function.each(range(20)))
        assert died.value.outcome == "timeout"
    assert seen == [0]
    assert time.monotonic() - start < 2.5 * QUICK.limits.call_seconds * QUICK.limits.wall_factor


def test_each_call_has_the_time_of_a_call(remote):
    seconds = QUICK.limits.call_seconds / 2
    source = f"import time\ndef f(x):\n    end = time.process_time() + {seconds}\n    while time.process_time() < end:\n        pass"
    function = remote(source).f
    assert len(list(function.each(range(4)))) == 4


def test_a_worker_that_answers_what_was_not_asked_is_ended(remote):
    for reply in ('{"seq": 10_000, "ok": 1}', '{"callback": 1, "method": "__call__", "args": [], "kwargs": {}, "grad": False}'):
        cell = FIND_WORKER + f"def f(x):\n    if x == 1:\n        worker.connection.sendall(worker.encode({reply}))\n    return x"
        with pytest.raises(WorkerDied, match="nonsense"):
            list(remote(cell).f.each(range(4)))


def test_a_function_as_an_input_is_refused(remote):
    student = remote("def f(x):\n    return x")
    with pytest.raises(wire.WireError, match="cannot be sent"):
        list(student.f.each([len]))
    assert student.f(1) == 1


def test_student_exceptions_keep_their_lines(remote):
    with pytest.raises(StudentRaised) as raised:
        list(remote("def f(x):\n    return 1 / x").f.each([0]))
    assert raised.value.lines == ["f, line 2: return 1 / x"]


BURNS = """
import time
def f():
    start = time.process_time()
    while time.process_time() - start < 0.8: pass
"""


def test_a_counted_call_has_longer():
    """The counter takes several times as long as the operations it looks at, and that is not the student's time."""
    limits = replace(QUICK.limits, call_seconds=0.5)
    for counted in (True, False):
        student = RemoteStudent("softmax", [Cell("probe", BURNS)], {}, limits=limits)
        try:
            student.start()
            with student.counting() if counted else contextlib.nullcontext():
                if counted:
                    student.f()
                else:
                    with pytest.raises(WorkerDied, match=r"stopped after 0\.5 s"):
                        student.f()
        finally:
            student.close()


def test_what_torch_takes_long_to_load_is_not_the_students_time(remote):
    source = "from torch.utils.flop_counter import FlopCounterMode\nimport sys\ndef f(): return 'torch._dynamo' in sys.modules"
    assert remote(source).f() is True
    assert remote("import sys\ndef f(): return 'torch._dynamo' in sys.modules").f() is False


def test_a_call_that_was_ended_or_cannot_be_made_says_nothing_of_what_it_raises(remote):
    student = remote("def endless():\n    while True:\n        pass\n\ndef other():\n    raise KeyError('x')\n")
    with pytest.raises(CheckFailed, match="an exception other than"):
        raises(ValueError, student.other, cause="told")
    with pytest.raises(NameError, match="nowhere"):
        raises(ValueError, student.nowhere, cause="not told")
    with pytest.raises(WorkerDied, match="does it end"):
        raises(ValueError, student.endless, cause="not told")


LEAVES = (
    "import torch\n"
    "def off(x):\n    torch.set_grad_enabled(False)\n    return x\n"
    "def narrow(x):\n    torch.set_default_dtype(torch.float64)\n    return x\n"
    "def raising(x):\n    torch.set_grad_enabled(False)\n    raise ValueError('no')\n"
    "def restored(x):\n    with torch.no_grad():\n        return x + 1\n"
    "def modes():\n    return [torch.is_grad_enabled(), str(torch.get_default_dtype())]\n"
    "class Thing:\n    def step(self):\n        torch.set_grad_enabled(True)\n        return 1\n"
)


@pytest.mark.parametrize(
    ("name", "said"),
    [("off", "gradient mode 'off' for its caller, where it was 'on'"),
     ("narrow", "default dtype torch.float64 for its caller, where it was torch.float32"),
     ("raising", "gradient mode 'off' for its caller, where it was 'on'")],
)  # fmt: skip
def test_a_mode_that_a_call_changes_for_its_caller_fails_the_check_and_is_put_back(student, name, said):
    them = student(LEAVES)
    for call in (lambda function: function(torch.ones(2)), lambda function: next(function.each([torch.ones(2)]))):
        with pytest.raises(CheckFailed, match=said):
            call(getattr(them, name))
        assert them.modes() == [True, "torch.float32"]
    assert them.restored(torch.ones(1)).tolist() == [2.0]


def test_a_method_that_changes_a_mode_is_seen_too(student):
    them = student(LEAVES)
    thing = them.Thing()
    them.gradients(False)
    with pytest.raises(CheckFailed, match="gradient mode 'on' for its caller, where it was 'off'"):
        thing.step()
    assert them.gradients(True) == "off"
