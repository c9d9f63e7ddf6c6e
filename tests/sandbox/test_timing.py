"""Checks that measure speed: the verdict's rule, the race itself, the timing phase in which grading runs them."""

import dataclasses
from collections import Counter
from contextlib import contextmanager

import pytest
import torch

from autograder.authoring import CheckFailed
from autograder.base.course_table import earlier_sources, solution_source
from autograder.base.errors import InfrastructureFault
from autograder.base.verdicts import FAIL, INCONCLUSIVE, PASS, SKIPPED, share
from autograder.certification.certify import Specimen, judge, needs_measuring
from autograder.checking import runner
from autograder.checking.runner import Check, run_checks
from autograder.grading import timing_phase
from autograder.grading.grade import Options
from autograder.grading.records import read_record, record_path, write_record
from autograder.grading.run import fresh_record, grade_all
from autograder.sandbox.confine import limits
from autograder.sandbox.confine.limits import Limits, stopped_after
from autograder.sandbox.measure import timing
from autograder.sandbox.measure.timing import Inconclusive, Race
from autograder.sandbox.process.local import LocalStudent
from autograder.sandbox.process.remote_student import Cell, RemoteStudent
from autograder.sandbox.protocol.worker_errors import WorkerDied
from tests.support.submissions import hand_in, solved

TOPIC = "softmax"
SLOW = """
def softmax(logits):
    for _ in range(400):
        weights = (logits - logits.amax(dim=-1, keepdim=True)).exp()
    return weights / weights.sum(dim=-1, keepdim=True)
"""
WRONG_AND_FAST = "def softmax(logits):\n    return logits\n"
ENDLESS = "def softmax(logits):\n    while True: pass\n"


def draw(rng):
    return torch.randn(20, 1000, generator=rng)


def call(s, inputs):
    return s.softmax(inputs)


def by_size(rng, size):
    return size


def same_size(s, inputs):
    return inputs


def of_ones(s, inputs, state):
    return s.softmax(torch.ones(state))


def remote_with(source):
    return RemoteStudent(TOPIC, [Cell("reference", solution_source(TOPIC)), Cell("more", source)], earlier_sources(TOPIC))


def rounds(monkeypatch, ratios, limit=2.0):
    given = iter(ratios)
    return Race(TOPIC, LocalStudent({}))._rounds(lambda flip: next(given), limit)


def test_three_rounds_that_agree_are_enough(monkeypatch):
    assert rounds(monkeypatch, [1.0, 1.1, 1.9]) == ([1.0, 1.1, 1.9], True)
    assert rounds(monkeypatch, [2.1, 2.5, 3.0])[1] is False


def test_one_round_of_another_opinion_asks_for_more_and_the_majority_says(monkeypatch):
    found, verdict = rounds(monkeypatch, [1.0, 3.0] + [1.0] * 13)
    assert verdict
    assert len(found) == timing.MAX_ROUNDS
    assert rounds(monkeypatch, [3.0, 1.0] + [3.0] * 13)[1] is False


def test_rounds_without_a_majority_give_no_verdict(monkeypatch):
    with pytest.raises(Inconclusive, match="both sides"):
        rounds(monkeypatch, [1.0, 3.0] * 10)


def test_far_above_the_limit_the_first_round_is_enough(monkeypatch):
    assert rounds(monkeypatch, [6.1]) == ([6.1], False)


@pytest.mark.parametrize("local", [False, True])
def test_the_reference_wins_its_race_and_a_slow_version_loses(local):
    def student(source):
        if not local:
            return remote_with(source)
        namespace: dict[str, object] = {}
        exec(solution_source(TOPIC) + source, namespace)
        return LocalStudent(namespace)

    won, lost = Race(TOPIC, student("")), Race(TOPIC, student(SLOW))
    won.against(SLOW, draw, call)
    with pytest.raises(CheckFailed, match="too slow"):
        lost.against(SLOW, draw, call)
    assert won.times == {}
    assert list(lost.times) == [""]
    assert list(lost.times[""]) == ["reference", "yours", "naive version"]
    assert lost.times[""]["yours"] > timing.MIN_SPREAD / 2


def test_a_fast_wrong_answer_wins_nothing():
    with pytest.raises(CheckFailed, match="another answer"):
        Race(TOPIC, remote_with(WRONG_AND_FAST)).against(SLOW, draw, call)


REMEMBERS = """
_softmax, _answers, asked = softmax, {}, []

def softmax(logits):
    key = logits.sum().item()
    asked.append(key)
    if key not in _answers:
        _answers[key] = [_softmax(logits) for _ in range(400)][-1]
    return _answers[key]

def keys(x):
    return len(asked), len(set(asked))
"""


def test_nothing_is_asked_twice_so_a_memory_of_answers_is_too_slow():
    student = remote_with(REMEMBERS)
    with pytest.raises(CheckFailed, match="too slow"):
        Race(TOPIC, student).against(SLOW, draw, call)
    asked, different = student.keys(torch.zeros(1))
    assert asked == different > 1


def test_another_seed_gives_other_inputs_and_the_same_seed_the_same():
    def first(seed, **options):
        return Race(TOPIC, LocalStudent({}), seed=seed, **options).draws.next(draw)

    assert torch.equal(first("1"), first("1"))
    assert not torch.equal(first("1"), first("2"))
    assert not torch.equal(first("1"), first("1", patient=True))


def test_every_rounds_value_is_held_against_the_references():
    late = """
_softmax, calls = softmax, []

def softmax(logits):
    calls.append(1)
    return _softmax(logits) * (1 + (len(calls) > 2))
"""
    with pytest.raises(CheckFailed, match="another answer"):
        Race(TOPIC, remote_with(late)).against(SLOW, draw, call)
    with pytest.raises(CheckFailed, match="another answer"):
        Race(TOPIC, remote_with(late)).growth(by_size, same_size, of_ones, short=8, long=64, limit=9.0, slow=9.0)


def test_who_is_equally_slow_everywhere_does_not_pass_for_growing_little():
    waits = """
import time
_softmax = softmax

def softmax(logits):
    until = time.perf_counter() + 0.03
    while time.perf_counter() < until:
        pass
    return _softmax(logits)
"""
    race = Race(TOPIC, remote_with(waits))
    with pytest.raises(CheckFailed, match="too slow"):
        race.growth(by_size, same_size, of_ones, short=128, long=1024, limit=2.0, slow=4.0)
    assert list(race.times) == ["1,024"]
    assert race.limit == 4.0


def test_a_call_that_runs_into_the_time_limit_is_too_slow():
    remote = RemoteStudent(TOPIC, [Cell("more", ENDLESS)], {}, limits=Limits(call_seconds=0.3))
    with pytest.raises(CheckFailed, match="too slow") as failed:
        Race(TOPIC, remote).against(SLOW, draw, call, cause="It loops.")
    assert failed.value.cause == "It loops."


def test_a_call_that_waited_for_a_busy_machine_proves_no_cause(monkeypatch):
    def waited(*_arguments, **_options):
        raise WorkerDied("timeout", stopped_after(3.0))

    monkeypatch.setattr(limits.os, "getloadavg", lambda: (99.0, 99.0, 99.0))
    monkeypatch.setattr(timing, "_duel", waited)
    with pytest.raises(CheckFailed, match="too slow") as failed:
        Race(TOPIC, LocalStudent({})).against(SLOW, draw, call, cause="It loops.")
    assert failed.value.cause is None
    assert "This machine is busy" in failed.value.got


def test_growth_that_runs_into_the_time_limit_is_too_slow():
    remote = RemoteStudent(TOPIC, [Cell("more", ENDLESS)], {}, limits=Limits(call_seconds=0.3))
    with pytest.raises(CheckFailed, match="too slow"):
        Race(TOPIC, remote).growth(by_size, same_size, of_ones, short=8, long=64, limit=2.0, slow=4.0)


def test_a_naive_version_that_is_not_slow_makes_the_race_inconclusive():
    with pytest.raises(Inconclusive, match="only"):
        Race(TOPIC, remote_with("")).against("pass\n", draw, call)


def test_a_rival_that_fails_is_our_fault():
    with pytest.raises(InfrastructureFault):
        Race(TOPIC, remote_with("")).against(WRONG_AND_FAST, draw, call)


def test_cost_that_grows_with_the_length_is_seen():
    def linear(s, inputs, state):
        return s.softmax(torch.ones(state * 100, 64)).sum()

    def constant(s, inputs, state):
        return s.softmax(torch.ones(12_800, 64)).sum()

    flat, grows = Race(TOPIC, remote_with("")), Race(TOPIC, remote_with(""))
    flat.growth(by_size, same_size, constant, short=128, long=1024, limit=3.0, slow=4.0)
    with pytest.raises(CheckFailed, match="grows"):
        grows.growth(by_size, same_size, linear, short=128, long=1024, limit=2.0, slow=4.0)
    assert flat.times == {}
    assert list(grows.times) == ["128", "256", "512", "1,024"]
    assert grows.times["128"] == {"reference": 1.0, "yours": 1.0}
    assert grows.times["1,024"]["yours"] > 2


@pytest.mark.parametrize("between", ["while True: pass", "raise ValueError('no')"])
def test_a_curve_that_cannot_be_measured_to_its_end_leaves_the_verdict_as_it_is(between):
    body = f"    if len(logits) == 256:\n        {between}\n    return [logits.softmax(0) for _ in range(len(logits))][0]\n"
    source = f"def softmax(logits):\n{body}"
    race = Race(TOPIC, RemoteStudent(TOPIC, [Cell("more", source)], {}, limits=Limits(call_seconds=0.5)))
    with pytest.raises(CheckFailed, match="grows"):
        race.growth(by_size, same_size, of_ones, short=128, long=1024, limit=2.0, slow=1e6)
    assert race.times == {}


# The timing phase


def timed_check(function):
    """A check that measures speed, for a day that has none of its own."""
    function.__doc__ = "quick enough"
    return Check("test_quick", "softmax", "quick enough", 1.0, hidden=False, function=function, timing=True)


@pytest.fixture
def with_timing(monkeypatch):
    def put(function):
        before = runner.load_checks(TOPIC)
        monkeypatch.setattr(runner, "load_checks", lambda topic: (*before, timed_check(function)) if topic == TOPIC else before)
        monkeypatch.setattr(timing_phase, "load_checks", runner.load_checks)

    return put


def test_speed_is_measured_after_all_else_and_once_for_each(tmp_path, with_timing):
    order = []

    def check(race):
        order.append("timing")

    with_timing(check)
    tasks = [hand_in(tmp_path, name, solved()) for name in ("ada", "bela")]
    due_first = []

    def progress(done, total, record):
        due_first.append((record.student, record.timing_due))

    steps = Counter()

    @contextmanager
    def bar(what, total):
        yield lambda: steps.update([(what, total)])

    records = grade_all(tasks, Options(), tmp_path / "records", progress=progress, bar=bar)
    assert steps == {("grading", 2): 2, ("measuring times", 2): 2}
    assert order == ["timing"] * 3  # the reference first, then each
    assert due_first == [("ada", False), ("bela", False)] or due_first == [("bela", False), ("ada", False)]
    for record in records:
        assert record.status == "pass"
        assert record.verdicts[-1].check == "test_quick"
        assert read_record(record_path(tmp_path / "records", record.student, record.slug)).timing_due is False


def test_a_run_that_was_stopped_before_the_timing_phase_goes_on_there(tmp_path, with_timing):
    measured = []

    def check(race):
        measured.append(1)

    with_timing(check)
    task = hand_in(tmp_path, "ada", solved())
    from autograder.grading.grade import grade_task

    half = grade_task(task, Options())
    assert half.timing_due
    write_record(tmp_path / "records", half)
    assert fresh_record(tmp_path / "records", task, Options()).timing_due
    (record,) = grade_all([task], Options(), tmp_path / "records", resume=True)
    assert not record.timing_due
    assert record.status == "pass"
    assert len(measured) == 2
    assert [v.seconds for v in record.verdicts[:-1]] == [v.seconds for v in half.verdicts]  # not graded a second time


def test_inconclusive_is_measured_again_and_then_left_to_a_person(tmp_path, with_timing):
    tries = []

    def check(race):
        tries.append(race.max_rounds)
        raise Inconclusive("rounds disagree")

    with_timing(check)
    task = hand_in(tmp_path, "ada", solved())
    (record,) = grade_all([task], Options(), tmp_path / "records")
    assert tries == [15, 45] * 2
    assert record.needs_person
    assert record.status == "needs a person"


def test_a_check_that_the_reference_fails_stops_the_run(tmp_path, with_timing):
    def check(race):
        raise CheckFailed("too slow")

    with_timing(check)
    with pytest.raises(InfrastructureFault, match="reference"):
        grade_all([hand_in(tmp_path, "ada", solved())], Options(), tmp_path / "records")


def test_an_exercise_with_nothing_right_is_not_measured(with_timing):
    called = []

    def check(race):
        called.append(1)

    with_timing(check)
    blank = remote_with("def softmax(x):\n    raise NotImplementedError('softmax')\n")
    verdicts = run_checks(TOPIC, runner.select(TOPIC, exercise="softmax"), blank)
    assert verdicts[-1].outcome == FAIL
    assert not called


def test_certification_measures_what_passed_all_else(with_timing):
    def check(race):
        raise Inconclusive("never clear")

    with_timing(check)
    right = Specimen(TOPIC, "right_x.py", "softmax", True, "the same", solution_source(TOPIC))
    first = judge(right, range(1), Limits())
    assert first.as_expected
    assert needs_measuring(first)
    assert not judge(right, range(1), Limits(), timing=True).as_expected
    wrong = Specimen(TOPIC, "wrong_x.py", "softmax", False, "all", WRONG_AND_FAST)
    assert not needs_measuring(judge(wrong, range(1), Limits()))


# What needs a GPU


def test_a_gpu_check_is_skipped_with_its_reason_and_costs_nothing(monkeypatch):
    check = Check("test_gpu", "softmax", "on the GPU", 1.0, hidden=False, function=lambda student: None, gpu=True)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    verdict = runner.run_check(TOPIC, check, LocalStudent({}))
    assert verdict.outcome == SKIPPED
    assert "CUDA" in verdict.message
    passed = dataclasses.replace(verdict, outcome=PASS)
    failed = dataclasses.replace(verdict, outcome=INCONCLUSIVE)
    assert share([verdict, passed]) == 1.0
    assert share([verdict, passed, failed]) == 0.5
    assert not verdict.failed
    assert failed.failed
    remote = remote_with("")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(runner, "wake_gpu", lambda: None)
    assert "make gpu" in runner.run_check(TOPIC, check, remote).message
    assert runner.run_check(TOPIC, check, LocalStudent({})).outcome == PASS
