"""The mechanical adversary: what it changes, how it knows a mutant again, and what it does with one that no check kills."""

import dataclasses
import textwrap
import tomllib

import pytest

from autograder.base import cache
from autograder.base.errors import CourseError
from autograder.certification import certify
from autograder.certification.mutation import equivalent, judge
from autograder.certification.mutation.mutants import REFERENCE, difference, mutants_of, mutate, plain

MARKED = '''
import torch

def clipped(x, low=0.0):
    """Not below low.

    Raises ValueError if low > 0.
    """
    given = 1
    ### BEGIN SOLUTION
    if low > 0:
        raise ValueError(f"low must be 0 or less, got {low}")
    with torch.no_grad():
        return x.clamp(min=low).sum(dim=-1)  # the last
    ### END SOLUTION
'''


def changes(body: str, head: str = "def f(x, y):") -> set[tuple[str, str]]:
    source = head + "\n" + textwrap.indent(textwrap.dedent(body), "    ")
    return {(m.identity.before, m.identity.after) for m in mutate("softmax", source, origin="right_x.py", exercise="softmax")}


@pytest.mark.parametrize(
    ("line", "becomes"),
    [
        ("z = x < y", ["z = x <= y", "z = x > y"]),
        ("z = x == y", ["z = x != y", "z = x >= y"]),
        ("z = 0 < x <= 1", ["z = 0 <= x <= 1", "z = 0 < x < 1", "z = 0 < x", "z = x <= 1", "z = 1 < x <= 1"]),
        ("z = x + y", ["z = x - y", "z = x", "z = y", "z = x.add_(y)"]),
        ("z = x - y", ["z = y - x"]),
        ("z = x[4]", ["z = x[5]", "z = x[3]", "z = x[0]", "z = x[1]", "z = x[8]", "z = x[2]"]),
        ("z = 1e-05", ["z = 0.0", "z = 2e-05", "z = 5e-06"]),
        ("z = g(x, y)", ["z = g(y, x)", "z = g(x)", "z = g(y)", "z = x", "z = g(x, None)"]),
        ("z = g(x, dtype=y.dtype)", ["z = g(x)", "z = g(x, dtype=torch.float32)"]),
        ("z = x and y", ["z = x or y", "z = x", "z = y"]),
        ("z = x.exp()", ["z = x.exp_()", "z = x", "z = x.exp2()"]),
        ("z = x.float()", ["z = x.half()", "z = x.double()"]),
        ("z = x.sum(dim=-1)", ["z = x.sum(dim=0)", "z = x.sum(dim=-2)", "z = x.sum(dim=None)", "z = x.mean(dim=-1)"]),
        ("z = min(x, y)", ["z = max(x, y)"]),
        ("z = float('-inf')", ["z = float('XX-infXX')"]),
        ("z = x.decode('utf-8')", ["z = x.decode('XXutf-8XX')"]),
        ("z = x[1:y]", ["z = x[:y]", "z = x[1:]", "z = x[1:y + 1]", "z = x[1:y - 1]", "z = x[2:y]"]),
        ("z = range(y)", ["z = range(y + 1)", "z = range(y - 1)", "z = range(1, y)"]),
        ("x.append(y)", ["pass"]),
        ("z = list(zip(x, y, strict=True))", ["z = list(zip(y, x, strict=True))"]),
    ],
)  # fmt: skip
def test_a_line_is_changed_in_these_ways_among_others(line, becomes):
    found = {after for before, after in changes(line + "\nreturn z") if before == line}
    assert set(becomes) <= found
    assert not any("strict" in line and "strict=True" not in line for line in found)


@pytest.mark.parametrize("line", ["z = min(x, y)", "z = float('-inf')", "z = x.decode('utf-8')", "z = x.sum(dim=-1)"])
def test_what_only_looks_like_a_change_is_left_alone(line):
    found = {after for before, after in changes(line + "\nreturn z") if before == line}
    assert not {"z = min(y, x)", "z = float('-INF')", "z = x.decode('UTF-8')", "z = x.sum(dim=1)", "z = x.sum(dim=+1)"} & found


def test_conditions_loops_and_blocks():
    found = {after for _, after in changes("if x:\n    return y\nfor z in y:\n    y(z)\nreturn x")}
    assert {"if not x:", "if True:", "if False:", "for z in y[1:]:", "for z in y[:-1]:", "break"} <= found
    found = {after for _, after in changes("with x:\n    y()\n")}
    assert "if True:" in found
    found = changes("try:\n    y()\nfinally:\n    x()\n")
    assert {("try:\n    y()\nfinally:\n    x()", "if True:\n    y()"), ("try:\n    y()\nfinally:", "if True:\n    y()")} <= found


def test_defaults_of_parameters_are_changed_too():
    found = {after for _, after in changes("return x", head="def f(x, *, tau: float = 1.0, k=None):")}
    assert {"def f(x, *, tau: float=0.0, k=None):", "def f(x, *, tau: float, k=None):", "def f(x, *, tau: float=1.0, k=1):"} <= found


def test_only_what_stands_between_the_marks_and_never_words():
    found = mutate("softmax", MARKED)
    assert found
    assert not [m for m in found if "given" in m.identity.before]
    assert all('"""Not below low.' in m.source for m in found)
    wording = [m.identity.after for m in found if "raise" in m.identity.before]
    assert sorted(wording) == [
        "pass",
        "raise RuntimeError(f'low must be 0 or less, got {low}')",
        "raise ValueError('refused')",
    ]


def test_what_is_given_keeps_its_defaults_too():
    given = "class State:\n    def empty(self, low: float = 0.0):\n        return low\n\n\n"
    assert {m.exercise for m in mutate("softmax", given + MARKED)} == {m.exercise for m in mutate("softmax", MARKED)}
    method = "class Pool:\n    def __init__(self, size: int = 3):\n        self.size = size\n\n" + "".join(
        f"    {line}\n" if line else "\n" for line in MARKED.splitlines()
    )
    assert not [m for m in mutate("softmax", method) if "size" in m.identity.before]


def test_every_mutant_compiles_and_no_two_are_alike():
    for source in (MARKED, certify.solution_source("latency")):
        found = mutate("latency", source)
        sources = [plain(m.source) for m in found]
        assert None not in sources
        assert len(set(sources)) == len(sources)
        assert plain(source) not in sources
        assert len({m.identity for m in found}) == len(found)


def test_a_mutant_is_known_again_when_lines_move_and_comments_change():
    moved = "# one more line\n" + MARKED.replace("# the last", "# the last dimension").replace('"""Not below', '"""Never below')
    assert [m.identity for m in mutate("softmax", moved)] == [m.identity for m in mutate("softmax", MARKED)]


def test_the_lines_that_differ():
    assert difference("def f():\n    a\n    b\n    c", "def f():\n    a\n    d\n    c") == ("b", "d")
    assert difference("a\nb", "a") == ("b", "")


# Judging. The reference of softmax, with few mutants, against its own checks.

ENTRY = '[[equivalent]]\norigin = "reference"\nwhere = "{}"\nbefore = "{}"\nafter = {}\nreason = "{}"\n'


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder for specimens; the cache is empty."""
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "cache"))
    (tmp_path / "softmax").mkdir()
    return tmp_path


@pytest.fixture
def few(monkeypatch):
    """Four mutants of softmax: a right one, and three that are not."""
    wanted = {"weights = shifted.exp_()", "weights = shifted", "weights = shifted.exp2()", "shifted = logits"}
    chosen = [m for m in mutants_of("softmax", exercise="softmax") if m.identity.after in wanted]
    assert len(chosen) == 4
    monkeypatch.setattr(judge, "mutants_of", lambda *args, **how: chosen)
    return chosen


def test_mutants_are_killed_by_a_check_or_survive(few, folder):
    result = judge.run("softmax", folder=folder)
    assert result.counts() == {"made": 4, "killed": 3, "equivalent": 0, "surviving": 1}
    assert [m.identity.after for m in result.surviving] == ["weights = shifted.exp_()"]
    assert all(o.killed_by is None or o.killed_by.startswith("test_") for o in result.outcomes)
    assert not result.clean


def test_a_weak_check_leaves_a_survivor(few, folder, monkeypatch):
    monkeypatch.setattr(judge, "untimed", lambda topic, exercise: certify.select("softmax", exercise="softmax")[:0])
    assert judge.run("softmax", folder=folder).counts()["surviving"] == 4


def test_one_that_is_listed_with_a_reason_is_no_survivor(few, folder):
    reason = "shifted was made here, and nothing reads it later"
    entry = ENTRY.format("softmax", "weights = shifted.exp()", '["weights = shifted.exp_()"]', reason)
    equivalent.path_of("softmax", folder).write_text(entry)
    result = judge.run("softmax", folder=folder)
    assert result.counts() == {"made": 4, "killed": 3, "equivalent": 1, "surviving": 0}
    assert result.clean
    assert [o.equivalent for o in result.outcomes if o.equivalent] == [reason]


def test_of_right_versions_a_part_is_drawn_and_what_is_left_out_is_not_stale(few, folder, monkeypatch):
    """The same part each time; of the reference, and of a version that is named, everything is judged."""
    of_right = [dataclasses.replace(m, identity=dataclasses.replace(m.identity, origin="right_a.py")) for m in few]
    made = few + of_right
    monkeypatch.setattr(judge, "mutants_of", lambda *args, **how: made)
    monkeypatch.setattr(judge, "killed_by", lambda mutant: "test_x")
    parts = [next(n for n in range(2, 50) if judge.drawn(m, n) is wanted) for m, wanted in zip(of_right[:2], (True, False), strict=True)]
    for share in (1, *parts):
        result = judge.run("softmax", origin="all", share=share, folder=folder)
        judged = [o.mutant for o in result.outcomes]
        assert judged == few + [m for m in of_right if judge.drawn(m, share)]
        assert result.left_out == len(made) - len(judged)
        assert (result.left_out == 0) == (share == 1 or all(judge.drawn(m, share) for m in of_right))
    left_out = next(m for m in of_right if not judge.drawn(m, parts[1])).identity
    entry = ENTRY.format("softmax", left_out.before, f'["{left_out.after}"]', "nobody looks at this at all")
    equivalent.path_of("softmax", folder).write_text(entry.replace('"reference"', '"right_a.py"'))
    assert judge.run("softmax", origin="all", share=parts[1], folder=folder).stale == []
    monkeypatch.setattr(judge, "mutants_of", lambda *args, **how: of_right)
    assert judge.run("softmax", origin="right_a.py", share=parts[1], folder=folder).left_out == 0


def test_an_entry_that_is_killed_or_matches_nothing_is_stale(few, folder):
    reason = "nobody looks at this at all"
    entry = ENTRY.format("softmax", "weights = shifted.exp()", '["weights = shifted", "weights = gone"]', reason)
    equivalent.path_of("softmax", folder).write_text(entry)
    result = judge.run("softmax", folder=folder)
    why = {identity.after: text for identity, text in result.stale}
    assert why["weights = shifted"].startswith("killed by test_")
    assert why["weights = gone"] == "no mutant matches this entry"
    assert not result.clean


def figures_of(date: str, share: int = 12, **made: int) -> dict:
    topics = {name: {"made": n, "killed": n, "equivalent": 0, "surviving": 0, "left_out": 1} for name, n in made.items()}
    return {"run": {"date": date}, "origin": "reference", "share": share, **judge.counted(topics)}


def test_a_topic_judged_anew_takes_its_place_among_earlier_results():
    older = figures_of("monday", softmax=3, samplers=5)
    joined = judge.joined(older, figures_of("friday", tokenizer=7, samplers=6))
    assert {name: (topic["made"], topic["run"]["date"]) for name, topic in joined["topics"].items()} == {
        "softmax": (3, "monday"), "tokenizer": (7, "friday"), "samplers": (6, "friday"),
    }  # fmt: skip
    assert list(joined["topics"]) == ["softmax", "tokenizer", "samplers"]
    assert (joined["made"], joined["killed"], joined["left_out"]) == (16, 16, 3)
    assert joined["run"] == {"date": "friday"}
    assert judge.joined(joined, figures_of("sunday", softmax=4))["topics"]["tokenizer"]["run"] == {"date": "friday"}
    with pytest.raises(CourseError, match="--origin reference --share 12, not for reference and 1"):
        judge.joined(older, figures_of("friday", share=1, softmax=3))


@pytest.mark.slow
@pytest.mark.parametrize("topic", certify.known_topics())
def test_every_entry_of_the_course_is_a_mutant_of_what_is_right(topic):
    listed = set(equivalent.read(topic))
    places = {(i.origin, i.where.split(".")[0] if i.origin == REFERENCE else None) for i in listed}
    here = {m.identity for origin, exercise in places for m in judge.mutants_from(origin, topic, exercise=exercise)}
    assert listed <= here


@pytest.mark.parametrize("topic", certify.known_topics())
def test_every_entry_of_the_course_has_a_reason(topic):
    assert all(equivalent.read(topic).values())


@pytest.mark.parametrize("reason", ["", "equivalent", "it is the same program, no difference", "same", "The behaviour is equivalent."])
def test_a_fixed_phrase_is_no_reason(folder, reason):
    equivalent.path_of("softmax", folder).write_text(ENTRY.format("softmax", "a", '"b"', reason))
    with pytest.raises(CourseError, match="not a reason"):
        equivalent.read("softmax", folder)


def test_survivors_are_printed_as_entries_that_can_be_filled_in(few, folder):
    text = equivalent.as_entries(few)
    path = equivalent.path_of("softmax", folder)
    path.write_text(text.replace('reason = ""', 'reason = "nothing reads it once it was written"'))
    assert set(equivalent.read("softmax", folder)) == {m.identity for m in few}
    for odd in ("a", "it's", "a\nb", "if 'a':\n    b(''')"):
        assert tomllib.loads(f"x = {equivalent.quoted(odd)}")["x"] == odd


def test_only_what_changed_is_judged_again(few, folder, monkeypatch):
    begun = []

    def begin(total: int):
        begun.append(total)
        return lambda: None

    first = judge.run("softmax", folder=folder, begin=begin)
    again = judge.run("softmax", folder=folder, begin=begin)
    monkeypatch.setattr(judge.verdict_inputs, "digest", lambda topic: "another")
    judge.run("softmax", folder=folder, begin=begin)
    monkeypatch.setenv(cache.VARIABLE, cache.OFF)
    judge.run("softmax", folder=folder, begin=begin)
    assert begun == [4, 0, 4, 4]
    assert [o.killed_by for o in again.outcomes] == [o.killed_by for o in first.outcomes]


def test_a_reference_that_fails_its_own_checks_is_reported_first(few, folder, monkeypatch):
    monkeypatch.setattr(judge, "solution_source", lambda topic: certify.solution_source(topic).replace("shifted.exp()", "shifted"))
    with pytest.raises(CourseError, match="the reference fails test_"):
        judge.run("softmax", folder=folder)
