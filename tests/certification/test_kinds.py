"""Incorrect versions by kinds of mistakes: each kind shows as its name says, and nowhere else."""

import ast
import asyncio
import inspect
import textwrap

import pytest
import torch

from autograder.base import cache
from autograder.base.course_table import known_topics, solution_source
from autograder.base.errors import CourseError
from autograder.certification.mutation import equivalent, judge, kinds
from autograder.certification.mutation.kinds import HELPERS, KINDS_BY_NAME, ORDINALS, made_of, mutants_by_kind
from autograder.certification.mutation.mutants import KINDS, mutants_of


@pytest.fixture(autouse=True)
def modes():
    """Gradients are on and the default dtype is float32, before and after."""
    yield
    torch.set_grad_enabled(True)
    torch.set_default_dtype(torch.float32)


def definition(source):
    return ast.parse(textwrap.dedent(source)).body[0]


def defined(text, name):
    namespace = {}
    exec(compile("from __future__ import annotations\n" + HELPERS + "\n" + text, "kind", "exec"), namespace)
    return namespace[name]


def versions(name, source):
    """Return a function as it is given, and its incorrect version of a kind."""
    function = definition(source)
    text = KINDS_BY_NAME[name](function)
    assert text is not None
    return defined(textwrap.dedent(source), function.name), defined(text, function.name)


def plain(value):
    return value.tolist() if isinstance(value, torch.Tensor) else value


def attempt(function, *args, **kwargs):
    """Return the result, or the exception's name."""
    try:
        return plain(function(*args, **kwargs))
    except Exception as error:
        return type(error).__name__


def given(function, argument):
    """Return an argument as the call leaves it."""
    function(argument)
    return argument


def lists_after(function, *lists):
    function(*lists)
    return lists


def modes_after(function, *args):
    """Return gradient mode and default dtype after a call that has the mode off and float16."""
    torch.set_grad_enabled(False)
    torch.set_default_dtype(torch.float16)
    attempt(function, *args)
    return torch.is_grad_enabled(), torch.get_default_dtype()


def gradients_after(function, *args):
    torch.set_grad_enabled(True)
    attempt(function, *args)
    return torch.is_grad_enabled()


def drawn(function):
    """Return what a function draws from a generator, and the number that the generator gives next."""
    generator = torch.Generator().manual_seed(0)
    return function(generator).item(), torch.rand((), generator=generator).item()


def first_and_last_of_stream(function):
    log = []
    stream = function(log)
    return next(stream), list(log), list(stream)


def state_of_two(cls):
    one, other = cls(), cls()
    one.items.append(1)
    other.table["a"] = 1
    return one.items, one.table, other.items, one.size


def earlier_result(function):
    first = function(torch.tensor([1.0, 2.0]))
    function(torch.tensor([3.0, 4.0]))
    return first.tolist()


T = torch.tensor
LOOP = "def f(n: int) -> list[int]:\n    found = []\n    for i in range(n):\n        found.append(i)\n    return found"
WHILE = "def f(n: int) -> int:\n    i = 0\n    while i < n:\n        i += 1\n    return i"
COMPREHENSION = "def f(n: int) -> int:\n    return sum(i * 0 + 1 for i in range(n) if True)"
DOUBLE = "def f(x: Tensor) -> Tensor:\n    return 2 * x"
SCALED = "def f(x: list[float], by: float) -> float:\n    return by * sum(x)"
CHECKED = "def f(x: Tensor) -> Tensor:\n    if x.sum() < 0:\n        raise ValueError('negative')\n    return x"
ITEMS = "def f(items: list[int]) -> list[int]:\n    return [each + 1 for each in items]"
ROWS = "def f(x: Tensor) -> Tensor:\n    return x.sum(dim=-1)"
FLOATS = "def f(x: float) -> dict[str, list[float]]:\n    return {'x': [x]}"
WHOLE = "def f(n: int) -> tuple[int, bool]:\n    return n, True"
WHOLE_TENSOR = 'def f(x: Tensor) -> Tensor:\n    """Return as is. x (n,) int64 -> (n,) int64."""\n    return x.clone()'
DRAW = "def f(generator: torch.Generator | None = None) -> Tensor:\n    return torch.rand((), generator=generator)"
DEFAULTS = (
    "def f(a: int, b: int = 2, *, c: float = 3.0, d: int | None = None, e: int = 5, g: int = 6, own: bool = True) -> list:\n"
    "    return [a, b, c, d, e, g, own]"
)
FIVE = "def f(a: Tensor, b: Tensor, c: Tensor, d: Tensor, e: Tensor) -> list:\n    return [each.tolist() for each in (a, b, c, d, e)]"
LISTS = "def f(a: list[int], b: list[int]) -> int:\n    return len(a) + len(b)"
STREAM = "def f(log: list) -> Iterator[int]:\n    for i in range(3):\n        log.append(i)\n        yield i"
RAISING = "def f(x: int) -> int:\n    if x < 0:\n        raise {0}('no')\n    if x > 9:\n        raise RuntimeError('large')\n    return x"
FLIPPED = T([[1.0, 2.0], [3.0, 4.0]]).T
DRAWS = torch.rand(3, generator=torch.Generator().manual_seed(0)).tolist()


def five(nth, function):
    """Return the nth of five tensors as a call leaves it, the others, and the result."""
    tensors = [T([float(i), 1.0]) for i in range(5)]
    function(*tensors)
    return tensors[nth].tolist(), [each.tolist() for i, each in enumerate(tensors) if i != nth]


def five_flipped(nth, function):
    return function(*[FLIPPED if i == nth else T([[0.0]]) for i in range(5)])[nth]


CASES = [
    *((f"loops end after {n} passes", text, lambda f, n=n: f(n + 1), last, lambda f, n=n: (f(n), f(0)))
      for n in (40, 300) for text, last in ((LOOP, [*range(n)]), (WHILE, n), (COMPREHENSION, n))),
    ("the first result is returned for all arguments of the same shapes", SCALED,
     lambda f: (f([1.0], 2.0), f([3.0], 2.0)), (2.0, 2.0), lambda f: (f([1.0], 2.0), f([1.0], 3.0), f([1.0, 4.0], 2.0))),
    ("the first result is returned for all arguments of the same shapes", DOUBLE,
     lambda f: (plain(f(T([1.0]))), plain(f(T([3.0])))), ([2.0], [2.0]), lambda f: (plain(f(T([1.0, 1.0]))), plain(f(T([[3.0, 1.0]]))))),
    ("gradients are on after each call", DOUBLE, lambda f: modes_after(f, T([1.0])), (True, torch.float16),
     lambda f: gradients_after(f, T([1.0]))),
    ("gradients are off after each call", DOUBLE, lambda f: gradients_after(f, T([1.0])), False, lambda f: modes_after(f, T([1.0]))),
    ("gradients are on after an exception", CHECKED, lambda f: modes_after(f, T([-1.0])), (True, torch.float16),
     lambda f: modes_after(f, T([1.0]))),
    ("gradients are off after an exception", CHECKED, lambda f: gradients_after(f, T([-1.0])), False,
     lambda f: gradients_after(f, T([1.0]))),
    *((f"the default dtype is {name} after {when}", CHECKED, lambda f, x=x: modes_after(f, T([x])), (False, dtype),
       lambda f: plain(f(T([1]))))
      for name, dtype in (("float32", torch.float32), ("float64", torch.float64))
      for when, x in (("each call", 1.0), ("an exception", -1.0))),
    ("the first list is sorted", ITEMS, lambda f: f([2, 1]), [2, 3], lambda f: (f([1, 2]), given(f, [2, 1]))),
    ("the caller's first list is reversed", ITEMS, lambda f: given(f, [2, 1]), [1, 2], lambda f: (f([2, 1]), f((2, 1)))),
    ("floats are rounded to four digits", FLOATS, lambda f: f(0.123456), {"x": [0.1235]}, lambda f: (f(0.5), f(1e30))),
    ("floats are rounded to four digits", DOUBLE, lambda f: plain(f(T([0.03125, 0.000005]))), [0.0625, 0.0],
     lambda f: (plain(f(T([0.5, float("-inf"), 1e38]))), plain(f(T([10001]))))),
    ("floats go through float16", FLOATS, lambda f: f(2049.0), {"x": [2048.0]}, lambda f: f(2048.0)),
    ("floats go through bfloat16", DOUBLE, lambda f: plain(f(T([128.5]))), [256.0], lambda f: (plain(f(T([128.0]))), plain(f(T([257]))))),
    ("floats go through float32", DOUBLE, lambda f: plain(f(T([2.0**24 + 1], dtype=torch.float64))), [2.0**25],
     lambda f: plain(f(T([2.0**24 + 2], dtype=torch.float64)))),
    ("whole numbers go through int16", WHOLE, lambda f: f(2**15), (-(2**15), True), lambda f: (f(2**15 - 1), f(2**70))),
    ("whole numbers go through int16", WHOLE_TENSOR, lambda f: plain(f(T([2**15]))), [-(2**15)], lambda f: plain(f(T([2**15 - 1])))),
    ("whole numbers go through int32", WHOLE, lambda f: f(2**31), (-(2**31), True), lambda f: f(2**31 - 1)),
    ("whole numbers go through float32", WHOLE, lambda f: f(2**24 + 1), (2**24, True), lambda f: f(2**24)),
    *((f"the {nth} two parameters of the same type are swapped", FIVE, lambda f: f(*map(T, range(5))), result,
       lambda f: f(*(T(1),) * 5))
      for nth, result in zip(ORDINALS, ([1, 0, 2, 3, 4], [0, 2, 1, 3, 4], [0, 1, 3, 2, 4]), strict=False)),
    ("the caller's first list loses its last entry", LISTS, lambda f: lists_after(f, [1, 2], [3, 4]), ([1], [3, 4]),
     lambda f: (f([1, 2], [3]), f((1, 2), [3]))),
    ("the caller's second list loses its last entry", LISTS, lambda f: lists_after(f, [1, 2], [3, 4]), ([1, 2], [3]),
     lambda f: f([1, 2], [3])),
    ("the caller's first list ends in 0", LISTS, lambda f: lists_after(f, [1, 2], [3, 4]), ([1, 0], [3, 4]),
     lambda f: (f([1, 2], [3]), lists_after(f, ["a"], []))),
    ("the caller's second list ends in 0", LISTS, lambda f: lists_after(f, [1, 2], [3, 4]), ([1, 2], [3, 0]),
     lambda f: lists_after(f, [1, 2], [])),
    ("the caller's first dict loses its last entry", "def f(body: dict[str, int]) -> int:\n    return len(body)",
     lambda f: given(f, {"a": 1, "b": 2}), {"a": 1}, lambda f: (f({"a": 1}), f({}))),
    *((f"the caller's {nth} tensor ends in 0", FIVE, lambda f, i=i: five(i, f)[0], [float(i), 0.0], lambda f, i=i: five(i, f)[1])
      for i, nth in enumerate(ORDINALS)),
    ("results of the same shape share one tensor", DOUBLE, earlier_result, [6.0, 8.0],
     lambda f: (plain(f(T([1.0]))), plain(f(T([3.0, 4.0]))), f(T([1.0], requires_grad=True)).requires_grad)),
    *((f"{one} becomes {other}", RAISING.format(one), lambda f: attempt(f, -1), other, lambda f: (attempt(f, 1), attempt(f, 10)))
      for a, b in (("ValueError", "TypeError"), ("IndexError", "KeyError")) for one, other in ((a, b), (b, a))),
    ("exceptions are swallowed", CHECKED, lambda f: attempt(f, T([-1.0])), None, lambda f: attempt(f, T([1.0]))),
    ("the generator is ignored", DRAW, lambda f: drawn(f)[1], DRAWS[0], lambda f: torch.manual_seed(0) and f().item()),
    ("a number is drawn before", DRAW, drawn, (DRAWS[1], DRAWS[2]), lambda f: f().shape),
    ("a number is drawn afterwards", DRAW, drawn, (DRAWS[0], DRAWS[2]), lambda f: drawn(f)[0]),
    ("the first row is repeated for the whole batch", ROWS, lambda f: plain(f(T([[1.0, 2.0], [3.0, 4.0]]))), [3.0, 3.0],
     lambda f: (plain(f(T([[1.0, 2.0]]))), plain(f(T([1.0, 2.0]))))),
    *((f"strides of the {nth} tensor are ignored", FIVE, lambda f, i=i: five_flipped(i, f), [[1.0, 2.0], [3.0, 4.0]],
       lambda f, i=i: (five_flipped((i + 1) % 5, f), f(*(T([[1.0], [2.0]]).expand(2, 2) for _ in range(5)))))
      for i, nth in enumerate(ORDINALS)),
    ("the stream is computed before its first item", STREAM, first_and_last_of_stream, (0, [0, 1, 2], [1, 2]), lambda f: list(f([]))),
    *((f"the {nth} default cannot be changed", DEFAULTS, lambda f, name=name: f(1, **{name: 9})["abcdeg".index(name)], value,
       lambda f: f(1, own=False))
      for nth, name, value in zip(ORDINALS, "bcdeg", (2, 3.0, None, 5, 6), strict=True)),
]  # fmt: skip
"""(kind, function, an expression in which the kind shows, its value then, an expression in which it does not)."""


@pytest.mark.parametrize(("name", "source", "shows", "value", "hides"), CASES, ids=[case[0] for case in CASES])
def test_a_kind_changes_what_its_name_says_and_nothing_else(name, source, shows, value, hides):
    right, wrong = versions(name, source)
    assert shows(wrong) == value
    assert shows(right) != value
    assert hides(versions(name, source)[1]) == hides(right)
    assert inspect.signature(wrong) == inspect.signature(right)


def test_objects_share_what_their_class_makes():
    source = (
        "class Pool:\n    def __init__(self):\n        ### BEGIN SOLUTION\n        self.items, self.table = [], {}\n        self.size = 3\n"
        "        ### END SOLUTION\n"
    )
    (mutant,) = (m for m in made_of("softmax", source) if m.identity.after == "objects share their state")
    assert (mutant.exercise, mutant.identity.where) == ("Pool", "Pool.__init__")
    assert state_of_two(defined(source, "Pool")) == ([1], {}, [], 3)
    assert state_of_two(defined(mutant.source, "Pool")) == ([1], {"a": 1}, [1], 3)
    one, other = (cls := defined(mutant.source, "Pool"))(), cls()
    one.size, one.items = 4, [5]
    assert (other.size, other.items) == (3, [5])


def test_own_exceptions_become_runtime_errors():
    function = definition("def f(x: int) -> int:\n    if x:\n        raise CacheFull('full')\n    raise ValueError('other')")
    text = "class CacheFull(ValueError):\n    pass\n\n" + KINDS_BY_NAME["the day's own exceptions become RuntimeError"](function)
    assert [attempt(defined(text, "f"), x) for x in (1, 0)] == ["RuntimeError", "ValueError"]
    text = "class CacheFull(ValueError):\n    pass\n\n" + KINDS_BY_NAME["ValueError becomes TypeError"](function)
    assert [attempt(defined(text, "f"), x) for x in (1, 0)] == ["CacheFull", "TypeError"]


def test_an_asynchronous_stream_stays_one():
    source = "async def f(log: list) -> AsyncGenerator[int, None]:\n    for i in range(2):\n        log.append(i)\n        yield i"

    async def logs(function):
        log = []
        return [(item, len(log)) async for item in function(log)]

    right, wrong = versions("the stream is computed before its first item", source)
    assert asyncio.run(logs(right)) == [(0, 1), (1, 2)]
    assert asyncio.run(logs(wrong)) == [(0, 2), (1, 2)]


def test_a_result_keeps_its_gradient_and_an_object_its_identity():
    for name in ("floats are rounded to four digits", "floats go through float16"):
        x = T([0.3, 0.7], requires_grad=True)
        versions(name, DOUBLE)[1](x).sum().backward()
        assert x.grad.tolist() == [2.0, 2.0]
    items = ["a"]
    assert versions("floats go through float16", "def f(x) -> list[str | float]:\n    return x")[1](items) is items


def test_data_classes_are_converted_field_by_field():
    source = "@dataclasses.dataclass(frozen=True)\nclass Trace:\n    at: float\n\n\ndef f(x) -> Trace:\n    return Trace(x)"
    text = KINDS_BY_NAME["floats go through float16"](ast.parse(source).body[1])
    found = defined(source[: source.index("def f")] + text, "f")(2049.0)
    assert found.at == 2048.0


def test_a_method_is_changed_in_its_class_and_a_property_stays_one():
    source = textwrap.dedent("""
        class Cache:
            given = 1

            def __init__(self):
                self.size = 2049.0

            def add(self, x: float) -> float:
                \"\"\"Return the new size.

                Raises nothing.
                \"\"\"
                ### BEGIN SOLUTION
                self.size += x
                return self.size
                ### END SOLUTION

            @property
            def length(self) -> float:
                ### BEGIN SOLUTION
                return self.size
                ### END SOLUTION

            def other(self) -> float:
                return self.size

        after = Cache
        """)
    found = {(m.identity.where, m.identity.after): m for m in made_of("softmax", source)}
    assert {where for where, _ in found} == {"Cache.add", "Cache.length"}
    cls = defined(found["Cache.length", "floats go through float16"].source, "after")
    assert (cls().length, cls().add(0.0), cls().other(), cls.given) == (2048.0, 2049.0, 2049.0, 1)
    cls = defined(found["Cache.add", "floats go through float16"].source, "after")
    assert (cls().length, cls().add(0.0), cls.add.__doc__.split("\n")[0]) == (2049.0, 2048.0, "Return the new size.")


@pytest.mark.parametrize("name", KINDS_BY_NAME)
def test_a_kind_that_cannot_show_gives_nothing(name):
    assert KINDS_BY_NAME[name](definition("def f() -> None:\n    pass")) is None


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("floats go through float16", WHOLE_TENSOR),
        ("whole numbers go through int16", DOUBLE),
        ("whole numbers go through int16", "def f() -> Callable[[int], int]:\n    return abs"),
        ("the first list is sorted", "def f(requests: list[Request]) -> int:\n    return len(requests)"),
        ("the first result is returned for all arguments of the same shapes", STREAM),
        ("gradients are on after an exception", DOUBLE),
        ("the stream is computed before its first item", LOOP),
        ("objects share their state", "def add(self):\n    self.items = []"),
        ("the first default cannot be changed", DRAW),
    ],
)
def test_no_mutant_is_made_that_nobody_can_tell_from_its_original(name, source):
    assert KINDS_BY_NAME[name](definition(source)) is None


def test_every_kind_has_a_case():
    tested = {case[0] for case in CASES} | {"objects share their state", "the day's own exceptions become RuntimeError"}
    assert tested == set(KINDS_BY_NAME)


def test_no_helper_has_a_name_of_the_course():
    names = {node.id for node in ast.walk(ast.parse(HELPERS)) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    names |= {"_given", "_key", "_pass", *(node.name for node in ast.parse(HELPERS).body if isinstance(node, ast.FunctionDef))}
    names = {name for name in names if name.isupper() or "_" in name or name in vars(kinds.kind_helpers)}
    for topic in known_topics():
        used = {node.id for node in ast.walk(ast.parse(solution_source(topic))) if isinstance(node, ast.Name)}
        assert not names & used


# The mutants of the course, and what becomes of them.


@pytest.mark.parametrize("topic", ["softmax", "kv_cache", "serving"])
def test_mutants_compile_and_have_an_identity_each(topic):
    found = mutants_by_kind(topic)
    assert found
    for mutant in found:
        compile(mutant.source, "mutant", "exec")
    assert len({m.identity for m in found}) == len(found)
    assert {m.identity.origin for m in found} == {KINDS}
    assert {m.identity.after for m in found} <= set(KINDS_BY_NAME)
    some = found[0].exercise
    assert mutants_by_kind(topic, some) == [m for m in found if m.exercise == some]
    assert [cell.name for cell in found[0].cells] == ["reference"]


def test_single_changes_do_not_contain_them():
    for origin in ("reference", "all", "right"):
        assert not [m for m in mutants_of("softmax", exercise="entropy", origin=origin) if m.identity.origin == KINDS]
        assert not judge.is_of(mutants_by_kind("softmax")[0].identity, origin)
    assert judge.is_of(mutants_by_kind("softmax")[0].identity, KINDS)
    with pytest.raises(CourseError, match="kinds"):
        mutants_of("softmax", origin="right_nobody.py")


ENTRY = (
    '[[equivalent]]\norigin = "kinds"\nwhere = "{}"\nbefore = ""\nafter = {}\nreason = "no caller within the rules can tell them apart"\n'
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder for specimens; the cache is empty, and softmax has two kinds: float16, which a check kills, and one that survives."""
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "cache"))
    (tmp_path / "softmax").mkdir()
    monkeypatch.setattr(judge, "hold_the_unchanged", lambda topic, exercises: None)
    monkeypatch.setattr(judge, "killed_by", lambda mutant: "test_x" if "float16" in mutant.identity.after else None)
    monkeypatch.setattr(judge, "timing_checks", lambda mutant: [])
    wanted = {"floats go through float16", "results of the same shape share one tensor"}
    monkeypatch.setattr(kinds, "KINDS_BY_NAME", {name: kind for name, kind in KINDS_BY_NAME.items() if name in wanted})
    return tmp_path


def judged(folder, **how):
    return judge.run("softmax", origin=KINDS, folder=folder, **how)


def test_survivors_are_printed_as_entries_and_entries_count(folder):
    result = judged(folder)
    assert result.counts() == {"made": 6, "killed": 3, "equivalent": 0, "surviving": 3}
    reason = 'reason = "no caller within the rules can tell them apart"'
    equivalent.path_of("softmax", folder).write_text(equivalent.as_entries(result.surviving).replace('reason = ""', reason))
    result = judged(folder)
    assert result.counts() == {"made": 6, "killed": 3, "equivalent": 3, "surviving": 0}
    assert result.clean


def test_an_entry_whose_mutant_is_killed_or_does_not_exist_is_stale(folder):
    entries = ENTRY.format("softmax", '["floats go through float16", "gone"]') + ENTRY.format("entropy", '"gone"')
    equivalent.path_of("softmax", folder).write_text(entries)
    why = {(identity.where, identity.after): text for identity, text in judged(folder).stale}
    gone = "no mutant matches this entry"
    assert why == {("softmax", "floats go through float16"): "killed by test_x", ("softmax", "gone"): gone, ("entropy", "gone"): gone}
    assert {identity.where for identity, _ in judged(folder, exercise="softmax").stale} == {"softmax"}
    for origin in ("reference", "all"):
        assert judge.stale_entries([], [], equivalent.read("softmax", folder), exercise=None, origin=origin) == []
