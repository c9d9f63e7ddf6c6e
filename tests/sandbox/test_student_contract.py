"""What a check may do with `student`: the same local and remote, at every isolation level."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest
import torch

import autograder
from autograder.authoring import CheckFailed, Student, raises
from autograder.base.course_table import known_topics
from autograder.checking.runner import reference
from autograder.sandbox.protocol import wire
from tests.support.ways import student_of, way

__all__ = ["student_of", "way"]
"""Fixtures."""

SOURCE = '''
import dataclasses, torch

LIMIT = 7
TABLE = {"a": [1, 2.5]}

class Box:
    made = 0

    def __init__(self, items=()):
        self.items, self.entered, self.left = list(items), 0, None
        Box.made += 1

    @classmethod
    def empty(cls):
        return cls()

    def __len__(self): return len(self.items)
    def __iter__(self): return iter(self.items)
    def __getitem__(self, key): return self.items[key]
    def __setitem__(self, key, value): self.items[key] = value
    def __delitem__(self, key): del self.items[key]
    def __contains__(self, item): return item in self.items
    def __bool__(self): return len(self.items) > 1
    def __eq__(self, other): return True
    def __hash__(self): return 1

    def __enter__(self):
        self.entered += 1
        return self

    def __exit__(self, kind, error, trace):
        self.left = [kind.__name__ if kind else None, str(error)]
        return True

    def add(self, item, *, twice=False):
        self.items += [item, item] if twice else [item]
        return self

    def fail(self): raise KeyError("nothing there")

@dataclasses.dataclass
class Point:
    x: float
    y: float

def box(*items): return Box(items)
def same(a, b): return a is b
def options(x, *rest, scale=1, **more): return [x * scale, list(rest), more]
def counting_up(n):
    for i in range(n):
        got = yield i
        if got is not None: yield -got
def apply(f, x): return f(x)
def mapped(f, n): yield from (f(i) for i in range(n))
def total(box): return sum(box.items)
def raise_value(): raise ValueError("p must be in (0, 1], got 1.5")
def add_one_in_place(x): return x.add_(1)
def scaled(x): return 2 * x
def scaler(k): return lambda x: k * x
def wide(dtype): return torch.tensor([1, 2, 3]).to(dtype)
def count(items): return len(items)
def nothing(): return None
'''


@pytest.fixture
def student(student_of):
    return student_of(SOURCE)


def test_constants_and_tables(student):
    assert student.value("LIMIT") == 7
    assert student.value("TABLE") == {"a": [1, 2.5]}
    with pytest.raises(NameError, match="NOWHERE"):
        student.value("NOWHERE")


def test_a_class_is_called_and_read(student):
    assert student.Box([1, 2]).type_name == "Box"
    assert len(student.Box.empty()) == 0
    kind = student.value("Box")
    before = kind.made
    assert kind([3]).items == [3]
    assert kind.made == before + 1
    with pytest.raises(AttributeError):
        student.Box.nowhere  # noqa: B018


def test_attributes_are_read(student):
    box = student.box(1, 2)
    assert box.items == [1, 2]
    assert student.Point(1.0, y=2.5).y == 2.5
    with pytest.raises(AttributeError, match="nowhere"):
        box.nowhere  # noqa: B018
    with pytest.raises(AttributeError):
        box.__wrapped__  # noqa: B018


@pytest.mark.parametrize("value", [5, None, "text", [1, [2.5]], {"a": 1}, (1, 2)], ids=repr)
def test_an_attribute_that_is_set_is_set_where_the_object_is(student, value):
    box = student.box(1)
    box.items = value
    assert box.items == value


def test_an_attribute_is_set_to_tensors_handles_and_functions(student):
    box, other = student.box(1), student.box(2)
    box.items = torch.tensor([3, 4])
    assert int(student.total(box)) == 7
    box.items = other
    assert student.same(box.items, other) is True
    box.key = lambda x: x + 1
    assert box.key(4) == 5


@pytest.mark.parametrize("value", [{1, 2}, object(), torch.empty(2, device="meta")], ids=["set", "object", "meta"])
def test_what_cannot_cross_is_one_clear_type_error(student, value):
    box = student.box(1)
    with pytest.raises(TypeError, match=r"items of a Box cannot be set to this: .*cannot be sent"):
        box.items = value
    with pytest.raises(TypeError, match="__class__ of a Box cannot be set"):
        box.__class__ = int


def test_items_are_read_set_and_deleted(student):
    box = student.box(1, 2, 3)
    box[1] = 20
    del box[0]
    assert (box[0], list(box), len(box)) == (20, [20, 3], 2)
    with pytest.raises(IndexError):
        box[9]
    with pytest.raises(TypeError):
        student.Point(1.0, 2.0)[0] = 1


def test_len_in_bool_and_iteration(student):
    box = student.box(4, 5)
    assert len(box) == 2
    assert 4 in box
    assert 9 not in box
    assert bool(box) is True
    assert bool(student.box(4)) is False
    assert [*box] == [4, 5]
    with pytest.raises(TypeError):
        len(student.Point(1.0, 2.0))


def test_a_function_that_was_given_is_there_as_long_as_its_stream_is_held(student):
    """A generator is its own iterator: of two equal handles of it one is dropped here, and the other must count."""
    stream = iter(student.mapped(lambda x: 10 * x, 3))
    assert [next(stream), student.nothing(), next(stream), next(stream)] == [0, None, 10, 20]


def test_equal_and_hash_are_of_the_object_and_not_its_word(student):
    box, other = student.box(1), student.box(1)
    assert box == box.add(2)
    assert hash(box) == hash(box.add(2))
    assert box != other
    assert box != 1
    assert len({box, box.add(3), other}) == 2


def test_with_enters_leaves_and_swallows_nothing(student):
    box = student.box(1)
    with box as inside:
        assert inside == box
    assert (box.entered, box.left) == (1, [None, "None"])
    with pytest.raises(CheckFailed, match="wrong"), box:
        raise CheckFailed("wrong")
    assert box.left == ["AssertionError", "wrong"]
    with pytest.raises(ZeroDivisionError), box:
        1 / 0  # noqa: B018
    assert box.left[0] == "ZeroDivisionError"


def test_methods_take_keywords_and_chain(student):
    assert student.box().add(1, twice=True).add(2).items == [1, 1, 2]
    assert student.options(3, 4, 5, scale=2, other=[6]) == [6, [4, 5], {"other": [6]}]


def test_generators(student):
    numbers = student.counting_up(3)
    assert next(numbers) == 0
    assert numbers.send(5) == -5
    assert list(numbers) == [1, 2]
    with pytest.raises(StopIteration):
        next(numbers)


def test_functions_go_and_come(student):
    assert student.apply(lambda x: x + 1, 4) == 5
    assert student.scaler(3)(4) == 12
    assert student.apply(student.scaler(3), 5) == 15
    assert student.apply(student.value("scaled"), 5) == 10


def test_handles_go_back(student):
    box = student.box(1, 2)
    assert student.total(box) == 3
    assert student.same(box, box) is True
    assert student.same(box, student.box(1, 2)) is False
    assert student.count([box, {"a": box}]) == 2


def test_exceptions(student):
    with pytest.raises(ValueError, match=r"\(0, 1\], got 1\.5") as raised:
        student.raise_value()
    assert raised.value.lines[-1].startswith("raise_value, line")
    raises(ValueError, student.raise_value)
    with pytest.raises(CheckFailed, match="an exception other than"):
        raises(KeyError, student.raise_value)
    with pytest.raises(KeyError):
        student.box().fail()
    with pytest.raises(NameError, match="nowhere"):
        student.nowhere()
    with pytest.raises(TypeError):
        student.options()


def test_arguments_are_copies_and_changes_are_reported(student):
    x = torch.ones(2)
    assert student.add_one_in_place(x).tolist() == [2.0, 2.0]
    assert x.tolist() == [1.0, 1.0]
    with pytest.raises(CheckFailed, match="changed its argument 1"):
        student.add_one_in_place(x, _unchanged=True)
    result, (after,) = student.add_one_in_place(x, _arguments=True)
    assert (result.tolist(), after.tolist()) == ([2.0, 2.0], [2.0, 2.0])


def test_each_again_and_series(student):
    assert list(student.scaled.each([1, 2])) == [(1, 2), (2, 4)]
    first, second = student.scaled.again([torch.ones(1)], [torch.zeros(1)])
    assert (first.tolist(), second.tolist()) == ([2.0], [0.0])
    assert student.scaler.series(3, then=[[1], [2]]) == [3, 6]


def test_nothing_and_forgetting(student):
    assert student.nothing() is None
    box, other = student.box(1), student.box(2)
    student.forget(box)
    assert other.items == [2]


@pytest.mark.parametrize("dtype", wire.DTYPES.values(), ids=str)
def test_every_dtype_crosses_both_ways(student, dtype):
    got = student.wide(dtype)
    assert got.dtype == dtype
    exact = got.to(torch.complex128 if dtype.is_complex else torch.float64).abs()
    assert exact.tolist() == ([1, 1, 1] if dtype is torch.bool else [1, 2, 3])
    box = student.box(got)
    assert box[0].dtype == dtype


# The contract itself


def members() -> set[str]:
    return {name for name, value in vars(Student).items() if not name.startswith("_") and inspect.isfunction(value)}


def test_no_exercise_hides_behind_a_name_of_the_contract():
    for topic in known_topics():
        assert members().isdisjoint(vars(reference(topic))), topic


def test_checks_ask_a_student_for_nothing_else():
    """A name that is neither in the contract nor the reference's would be a function that no student has."""
    asked = 0
    for topic in known_topics():
        known = members() | set(vars(reference(topic)))
        for folder in ("checks", "hidden"):
            path = Path(autograder.__file__).parent / "checking" / folder / f"test_{topic}.py"
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "student":
                    asked += 1
                    assert node.attr in known, f"{folder}/test_{topic}.py, line {node.lineno}: student.{node.attr}"
    assert asked > 500


def test_local_and_remote_are_the_contract():
    from autograder.sandbox.process.local import LocalStudent
    from autograder.sandbox.process.remote_student import RemoteStudent

    for kind in (LocalStudent, RemoteStudent):
        for name in members():
            due, have = (inspect.signature(getattr(each, name)) for each in (Student, kind))
            assert [p.name for p in due.parameters.values()] == [p.name for p in have.parameters.values()], name

