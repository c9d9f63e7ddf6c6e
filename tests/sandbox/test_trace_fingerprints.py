"""What a check sees of a computation from outside: fingerprints of what it computed, and a rehearsal on the meta device."""

import subprocess
import sys

import pytest
import torch

from autograder.sandbox.measure.trace_fingerprints import fingerprint_of, watching
from autograder.sandbox.process.local import LocalStudent
from autograder.sandbox.process.remote_student import Cell, RemoteStudent
from course.kit.paths import ROOT

SOURCE = """
import torch

def twice(x):
    return (x * 2).transpose(0, 1) + 1

def piecewise(x):
    out = torch.empty_like(x)
    out[:1], out[1:] = x[1:] * 3, x[:1] * 3
    return out.sum()

def strays(x):
    steps = torch.arange(x.shape[-1])
    speed = 0.5 * steps
    return x * speed

def strays_into_cat(x):
    return torch.cat((x, torch.zeros(2)))

def made_where_x_is(x):
    return x * torch.arange(x.shape[-1], device=x.device) + torch.tensor(1.0)

def asks(x):
    if x.sum() > 0:
        return x
    return -x

def given_back_elsewhere(x):
    return torch.ones(3)

def fails(x):
    return x @ x.new_ones(5)
"""


@pytest.fixture(params=["remote", "local"])
def student(request):
    if request.param == "remote":
        remote = RemoteStudent("softmax", [Cell("f", SOURCE)], {})
        yield remote
        remote.close()
    else:
        import linecache

        namespace: dict[str, object] = {}
        linecache.cache["<cell 1>"] = (len(SOURCE), None, SOURCE.splitlines(True), "<cell 1>")
        exec(compile(SOURCE, "<cell 1>", "exec"), namespace)
        yield LocalStudent(namespace)


def test_computed_tensors_are_recorded_in_order(student):
    x = torch.tensor([[1.0, -2.0], [3.0, 4.0]])
    with student.watching() as fingerprints:
        got = student.twice(x)
    assert fingerprints == [fingerprint_of(x), fingerprint_of(2 * x), fingerprint_of(got)]
    with student.watching() as fingerprints:
        pass
    assert fingerprints == []


def test_a_tensor_written_in_pieces_is_recorded_whole(student):
    x = torch.tensor([[1.0, -2.0], [3.0, 4.0]])
    with student.watching() as fingerprints:
        student.piecewise(x)
    assert fingerprint_of(3 * x) in fingerprints


def test_no_more_is_noted_than_a_bound_allows(monkeypatch):
    monkeypatch.setattr("autograder.sandbox.measure.trace_fingerprints.MAX_FINGERPRINTS", 5)
    with watching() as fingerprints:
        for n in range(9):
            torch.full((2,), float(n)) + 1
    assert len(fingerprints) == 5


def test_memory_that_is_used_again_is_looked_at_again():
    with watching() as fingerprints:
        for n in range(3):
            torch.full((4,), float(n))
    assert [one[1] for one in fingerprints] == [0.0, 4.0, 8.0]


@pytest.mark.parametrize("name", ["strays", "strays_into_cat"])
def test_a_tensor_made_on_another_device_is_reported_with_its_line(student, name):
    made = {"strays": "torch.arange(x.shape[-1])", "strays_into_cat": "torch.zeros(2)"}[name]
    rehearsal = getattr(student, name).on_meta(torch.ones(2))
    assert rehearsal.stray.startswith(f"{name}, line ")
    assert made in rehearsal.stray


def test_what_stays_on_its_device_is_reported_by_shape(student):
    rehearsal = student.made_where_x_is.on_meta(torch.ones(2, 3, dtype=torch.float64))
    assert rehearsal.result == {"shape": [2, 3], "dtype": torch.float64, "device": "meta"}
    assert (rehearsal.stray, rehearsal.asked) == ("", "")


def test_a_value_that_was_asked_for_is_distinguished(student):
    rehearsal = student.asks.on_meta(torch.ones(2))
    assert rehearsal.stray == ""
    assert "if x.sum() > 0" in rehearsal.asked


def test_a_result_elsewhere_is_a_stray(student):
    assert "torch.ones(3)" in student.given_back_elsewhere.on_meta(torch.ones(2)).stray


def test_other_errors_stay_errors(student):
    with pytest.raises(RuntimeError, match="size"):
        student.fails.on_meta(torch.ones(2))


COUNTS_IMPORTS = """
import sys

import torch

def imported(x):
    before = set(sys.modules)
    x @ x, torch.cat((x, x))
    return len(set(sys.modules) - before)
"""
BOTH_WAYS = f"""
import torch

from autograder.sandbox.process.local import LocalStudent
from autograder.sandbox.process.remote_student import Cell, RemoteStudent

local = {{"__name__": "__main__"}}
exec({COUNTS_IMPORTS!r}, local)
remote = RemoteStudent("softmax", [Cell("count", {COUNTS_IMPORTS!r})], {{}})
for student in (LocalStudent(local), remote):
    print(student.imported.on_meta(torch.ones(2, 2)).result)
remote.close()
"""


def test_what_torch_imports_for_shapes_is_there_before_the_call():
    """Else some 400 modules, sympy among them, would be imported on the student's time."""
    ran = subprocess.run([sys.executable, "-c", BOTH_WAYS], capture_output=True, text=True, cwd=ROOT)
    assert ran.stdout.split() == ["0", "0"], ran.stderr


def test_a_rehearsal_loads_no_compiler():
    code = (
        "import sys, torch\n"
        "from autograder.sandbox.measure.meta import rehearse\n"
        "rehearse(lambda x: 2.0 ** torch.arange(3, device=x.device) + x, [torch.ones(3)], {}, lambda name: False)\n"
        "assert 'torch._dynamo' not in sys.modules\n"
        "import torch._dynamo\n"
        "assert hasattr(torch._dynamo, 'optimize')\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)
