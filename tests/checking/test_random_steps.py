"""Random steps of a check: the first list that fails is reported as the shortest that still fails, and a student can replay it."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

import pytest
import torch

import solutions.continuous_batching
import solutions.paging
from autograder.authoring import CheckFailed, random_steps
from autograder.base.specimen_files import SPECIMENS, find_specimens
from autograder.checking.helpers.paged import Played, Sequences, play_pool, pool_steps, sequence_steps
from autograder.checking.helpers.scheduled import Numbers, arrivals, board, on_a_board, play_schedule
from autograder.sandbox.process.local import LocalStudent


def test_only_the_steps_that_it_takes_are_left():
    def play(steps):
        if "take" in steps and "release" in steps[steps.index("take") :]:
            raise CheckFailed(" ".join(steps))

    drawn = iter([["grow", "release"], ["release", "take", "grow", "take", "release", "grow", "release"]])
    with pytest.raises(CheckFailed, match=r"^take release$"):
        random_steps(lambda: next(drawn), play, count=2)


def test_as_many_lists_of_steps_as_are_asked_for():
    played = []
    random_steps(lambda: [len(played)], played.append, count=3)
    assert played == [[0], [1], [2]]


def test_what_is_no_failure_of_a_check_is_raised_as_it_is():
    def play(steps):
        raise NotImplementedError("BlockPool")

    with pytest.raises(NotImplementedError, match="BlockPool"):
        random_steps(lambda: [1, 2], play, count=1)


def namespace_of(specimen: str, module: ModuleType = solutions.paging) -> dict:
    topic = module.__name__.removeprefix("solutions.")
    [source] = [each.text for each in find_specimens(SPECIMENS, [topic]) if each.file == f"wrong_{specimen}.py"]
    namespace = {"__name__": module.__name__}
    exec(compile(Path(module.__file__).read_text(encoding="utf-8"), "reference", "exec"), namespace)
    exec(compile(source, specimen, "exec", dont_inherit=True), namespace)
    return namespace


def failure_of(namespace: dict, draw, play) -> tuple[str, list[str]]:
    """(the failure in words, the lines of its steps)."""
    rng = torch.Generator().manual_seed(0)
    student = LocalStudent(namespace)
    student.begin_check()
    with pytest.raises(CheckFailed) as failed:
        random_steps(lambda: draw(rng), lambda steps: play(student, steps), count=60)
    found = re.fullmatch(r"(.*), after `(.*)`", failed.value.what)
    assert found, failed.value.what
    return found[1], found[2].split("; ")


def sequences(prefix: bool):
    def play(student, steps):
        Sequences(6, 4, prefix=prefix).play(student, steps)

    return (lambda rng: sequence_steps(rng, 20, prefix=prefix)), play


def test_the_steps_of_a_block_that_is_free_too_soon():
    def play(student, steps):
        play_pool(student, steps, 4, keys=False)

    _, lines = failure_of(namespace_of("pool_free_at_the_first"), lambda rng: pool_steps(rng, 30, keys=False), play)
    assert [re.sub(r"\b[a-h]\b", "x", line) for line in lines] == [
        "pool = BlockPool(4)", "x = pool.take()", "x = x", "pool.share(x)", "pool.release(x)",
    ]  # fmt: skip


SHARED = "a = PagedSequence(pool, 4); a.grow(6); b = a.fork(); b.grow(1)"


@pytest.mark.parametrize(
    ("due", "instead", "fact"),
    [
        (
            "if self.tail_is_shared:", "if False:",
            r"b is about to write into block (\d), which a has too \| a new block in its place in b.blocks \| \[.*\b\1\b.*\]",
        ),
        (
            "copies.append((old, new))", "pass",
            r"b.grow\(1\) gives other pairs \(old block, new block\) to be copied: block (\d) is part full, and a has it too "
            r"\| \[\(\1, \d\)\] \| \[\]",
        ),
        ("self.pool.release(old)", "self.pool.release(old + 99)", r"b.grow\(1\) raises IndexError .*"),
    ],
)  # fmt: skip
def test_steps_with_a_fork_say_what_is_to_be_copied_and_why(due: str, instead: str, fact: str):
    """expected and got are never the same block, and a step is named as the script names it."""
    source = Path(solutions.paging.__file__).read_text(encoding="utf-8")
    assert source.count(due) == 1
    namespace = {"__name__": "solutions.paging"}
    exec(compile(source.replace(due, instead), "reference", "exec"), namespace)
    student = LocalStudent(namespace)
    student.begin_check()
    steps = [("grow", "a", "a", 6), ("fork", "a", "b", 0), ("grow", "b", "b", 1)]
    with pytest.raises(CheckFailed) as failed:
        Sequences(6, 4).play(student, steps)
    what, script = failed.value.what.split(", after ")
    assert script == f"`pool = BlockPool(6); {SHARED}`"
    assert re.fullmatch(fact, f"{what} | {failed.value.expected} | {failed.value.got}"), failed.value


def test_no_step_mentions_code_that_a_student_has_not_written():
    """A block that a step has returned has the name of the script."""
    student = LocalStudent(namespace_of("pool_take_without_a_holder"))
    student.begin_check()
    with pytest.raises(CheckFailed) as failed:
        play_pool(student, [("take", "a", 0), ("share", "a", 0)], 4, keys=False)
    assert failed.value.what == "pool.share(a) raises ValueError, after `pool = BlockPool(4); a = pool.take(); b = a; pool.share(a)`"


PLAYS = {
    "pool": (lambda rng: pool_steps(rng, 30, keys=True), lambda student, steps: play_pool(student, steps, 4, keys=True)),
    "sequences": sequences(False),
    "prefixes": sequences(True),
    "board": (
        lambda rng: board(rng, waiting=2, known=2),
        lambda student, steps: on_a_board(
            student, steps, lambda each: each.update([7, 8]), num_blocks=16, size=4, budget=32, max_running=4, chunk=True
        ),
    ),
    "schedule": (
        lambda rng: arrivals(rng, 6),
        lambda student, steps: play_schedule(student, steps, Numbers(size=4, budget=8, max_running=2, room=2)),
    ),
}
ASKED = {"blocks_for", "find", "holders", "slots"}
"""Calls that only ask: a report names them in its sentence, not in the script."""


@pytest.mark.parametrize("name", PLAYS)
def test_a_script_holds_each_call_as_soon_as_it_is_made_and_no_later_one(monkeypatch, name: str):
    """A report shows the script up to the call that failed, so the script may never run ahead of the calls."""
    draw, play = PLAYS[name]
    topic = solutions.continuous_batching if name in ("board", "schedule") else solutions.paging
    made: dict[Played, list[str]] = {}
    compared = 0

    def look(self: Played, result, said: str, *, refused: bool = False):
        nonlocal compared
        called = re.search(r"(\w+)\(", said)
        calls = made.setdefault(self, [])
        if called and called[1] not in ASKED:
            calls.append(called[1])
        assert re.findall(r"(\w+)\(", "; ".join(self.script)) == calls, said
        compared += 1
        return result

    monkeypatch.setattr(Played, "look", look)
    monkeypatch.setattr(Played, "judge", lambda self, student: None)
    rng = torch.Generator().manual_seed(0)
    for _ in range(20):
        play(LocalStudent(dict(vars(topic))), draw(rng))
    assert compared > 100


def test_a_question_that_is_answered_wrong_is_told_after_the_calls_before_it():
    """`blocks_for` is asked before `grow`, so the report does not end with `grow`."""
    student = LocalStudent(namespace_of("sequence_copy_not_counted"))
    student.begin_check()
    with pytest.raises(CheckFailed) as failed:
        Sequences(6, 4).play(student, [("grow", "a", "a", 6), ("fork", "a", "b", 0), ("grow", "b", "b", 1)])
    what, steps = failed.value.what.split(", after ")
    assert what == "wrong b.blocks_for(1), the copy of the last block included"
    assert steps == "`pool = BlockPool(6); a = PagedSequence(pool, 4); a.grow(6); b = a.fork()`"


def test_reported_steps_can_be_replayed():
    namespace = namespace_of("sequence_no_copy_on_write")
    what, lines = failure_of(namespace, *sequences(False))
    assert "blocks_for" in what
    assert len(lines) <= 5
    exec("; ".join(lines), namespace)
    assert namespace["pool"].num_blocks == 6


def test_many_steps_around_an_overwritten_block_are_reduced_to_five():
    needed = [("start", "a", "a", 0), ("publish", "a", "a", 0), ("truncate", "a", "a", 3), ("grow", "a", "a", 2), ("start", "b", "b", 0)]
    noise = [("grow", "c", "c", 3), ("fork", "c", "d", 0), ("grow", "d", "d", 2), ("free", "d", "d", 0), ("truncate", "c", "c", 1)]
    steps = [step for pair in zip(noise, needed, strict=True) for step in pair]
    what, lines = failure_of(namespace_of("sequence_rewrites_in_silence"), lambda rng: steps, sequences(True)[1])
    assert "length" in what
    assert len(lines) == 1 + 5 + 1  # the pool, five steps, and a start, which takes two lines


def test_a_schedule_can_be_replayed():
    """Of six requests those are left that it takes: one that ends, and keeps its blocks."""
    namespace = namespace_of("update_keeps_the_blocks", solutions.continuous_batching)
    given = Numbers(size=4, budget=8, max_running=2, room=2)
    what, lines = failure_of(namespace, lambda rng: arrivals(rng, 6), lambda student, steps: play_schedule(student, steps, given))
    assert "num_free" in what
    assert sum(line.startswith("s.add") for line in lines) == 1
    exec("; ".join(lines), namespace)
    assert not namespace["s"].running
    assert namespace["pool"].num_free < namespace["pool"].num_blocks
