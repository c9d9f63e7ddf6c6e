"""The race of capstone engines: what a right one gets, and what each attack on it earns."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from typer.testing import CliRunner

from autograder.cli import app
from autograder.course_table import earlier_sources
from autograder.errors import CourseError
from autograder.exports.gradescope import race_results
from autograder.grading.submission import Cell
from autograder.lessons import capstone_bytes, capstone_path
from autograder.race import board, entering, playing, rightness, running
from autograder.race.playing import Lost, Played, Racer, hold_against, play
from autograder.race.rightness import Part
from autograder.race.rivals import LIMITS, TOPIC, Rivals, naive_source
from autograder.race.running import Outcome, Promises, Rate
from autograder.race.traffic import Asked, Draw, arriving, requests
from course.kit import load_model

MIB = 1024**2
VOCAB = 1024

DAY14 = '''
import torch
from solutions.continuous_batching import Request, Scheduler, abort, engine_step
from solutions.paging import PagedKV, PrefixPool


class CapstoneEngine:
    """Day 14's functions, put together: what somebody has who has followed the course and tuned nothing."""

    def __init__(self, model, *, max_running, cache_bytes):
        config = model.config
        block_bytes = 16 * 2 * config.num_hidden_layers * config.num_key_value_heads * config.head_dim * model.dtype.itemsize
        num_blocks = cache_bytes // block_bytes
        self.model, self.requests = model, {}
        self.kv = PagedKV(config, num_blocks, 16, model.dtype)
        self.scheduler = Scheduler(PrefixPool(num_blocks), 16, token_budget=64, max_running=max_running)

    @property
    def has_work(self):
        return bool(self.requests)

    def add(self, request_id, prompt_ids, max_tokens):
        self.requests[request_id] = Request(prompt_ids, max_tokens)
        self.scheduler.add(self.requests[request_id])

    def abort(self, request_id):
        if request_id in self.requests:
            abort(self.scheduler, self.requests.pop(request_id))

    def step(self):
        before = {name: len(request.output) for name, request in self.requests.items()}
        engine_step(self.model, self.scheduler, self.kv)
        new = [(name, self.requests[name].output[-1]) for name, had in before.items() if len(self.requests[name].output) > had]
        for name in [name for name, request in self.requests.items() if len(request.output) == request.max_new_tokens]:
            del self.requests[name]
        return new
'''


def over_naive(source: str) -> str:
    """An engine that is the naive one but for what `source` writes over. `Naive` is what it was."""
    return f"{naive_source()}\n\nimport collections, threading, time\nNaive = CapstoneEngine\n\n{source}"


@pytest.fixture
def racer_of() -> Iterator[Callable[[str], Racer]]:
    made: list[Racer] = []

    def make(source: str) -> Racer:
        made.append(Racer(TOPIC, [Cell("CapstoneEngine", source)], earlier_sources(TOPIC), limits=LIMITS))
        return made[-1]

    yield make
    for racer in made:
        racer.close()


def few(count: int = 3, tokens: int = 6, label: str = "few") -> list[Asked]:
    draw = Draw(1, label)
    return [Asked(f"{label}/{n}", draw.integers(0, VOCAB - 1, 12), tokens) for n in range(count)]


def played(racer: Racer, asked: list[Asked], **more: Any) -> Played:
    return play(racer, asked, **{"max_running": 4, "cache_bytes": 4 * MIB, **more})


# The requests


def test_a_seed_draws_the_same_requests_and_no_prompt_comes_twice_in_a_race() -> None:
    labels = ["promises", *(f"round {number}, rate {rate:g}" for number in range(3) for rate in running.RATES)]
    drawn = {label: requests(Draw(5, label), 64, VOCAB) for label in labels}
    assert drawn == {label: requests(Draw(5, label), 64, VOCAB) for label in labels}
    beginnings = {label: {tuple(each.prompt[:16]) for each in asked if len(each.prompt) >= 16} for label, asked in drawn.items()}
    assert sum(map(len, beginnings.values())) == len(set().union(*beginnings.values()))
    assert drawn["promises"] != requests(Draw(6, "promises"), 64, VOCAB)


def test_requests_are_what_the_page_says() -> None:
    asked = requests(Draw(1, "many"), 4000, VOCAB)
    heads: dict[tuple[int, ...], int] = {}
    for each in asked:
        heads[tuple(each.prompt[:128])] = heads.get(tuple(each.prompt[:128]), 0) + 1
    shared = sorted(heads.values())[-4:]
    assert 0.27 < sum(shared) / 4000 < 0.33
    others = sorted(len(each.prompt) for each in asked if heads[tuple(each.prompt[:128])] < 50)
    assert 57 < others[len(others) // 2] < 63
    assert {each.max_tokens for each in asked} == set(range(8, 65))
    times = [each.arrival for each in arriving(asked, 50.0, Draw(1, "times"))]
    assert times == sorted(times)
    assert 0.9 < times[-1] / (4000 / 50.0) < 1.1


# Right engines


@pytest.mark.parametrize("source", [naive_source(), DAY14], ids=["naive", "day 14"])
def test_right_engines_are_right(racer_of: Callable[[str], Racer], source: str) -> None:
    racer, model = racer_of(source), load_model("tiny", dtype=torch.float64)
    for part in (rightness.alone, rightness.together, rightness.aborted):
        part(racer, model, Draw(3, part.__name__))


def test_the_reference_is_right() -> None:
    rivals = Rivals()
    try:
        racer, model = rivals.reference(), load_model("tiny", dtype=torch.float64)
        for part in (rightness.together, rightness.aborted):
            part(racer, model, Draw(4, part.__name__))
    finally:
        rivals.close()


def test_nothing_of_the_courses_engine_can_be_imported_by_a_student(racer_of: Callable[[str], Racer]) -> None:
    racer = racer_of("from solutions.engine.serving import ServingEngine\nclass CapstoneEngine: pass")
    racer.start()
    assert "CapstoneEngine" not in racer.defined("CapstoneEngine")
    assert "ModuleNotFoundError" in racer.cell_outcomes["CapstoneEngine"].message


def test_an_abort_that_forgets_nothing_is_found(racer_of: Callable[[str], Racer]) -> None:
    racer = racer_of(over_naive("class CapstoneEngine(Naive):\n    def abort(self, request_id): pass"))
    with pytest.raises(Lost, match="which is not open"):
        rightness.aborted(racer, load_model("tiny", dtype=torch.float64), Draw(1, "aborted"))


# Attacks: each earns what is honest in it


def test_answers_before_they_are_computed_are_no_answers(racer_of: Callable[[str], Racer]) -> None:
    racer = racer_of(
        over_naive("""
class CapstoneEngine(Naive):
    def step(self):
        request_id, prompt, count = self.queue.pop(0)
        return [(request_id, prompt[-1])] * count
""")
    )
    found = played(racer, few())
    assert all(len(tokens) == 6 for tokens in found.tokens.values())
    with pytest.raises(Lost, match=r"token 0 of few/0 is .*; the model says"):
        hold_against(load_model("tiny", dtype=torch.float64), found)


def test_one_wrong_token_among_right_ones_is_found(racer_of: Callable[[str], Racer]) -> None:
    found = played(racer_of(naive_source()), few(1))
    model = load_model("tiny", dtype=torch.float64)
    hold_against(model, found)
    found.tokens["few/0"][4] = (found.tokens["few/0"][4] + 1) % VOCAB
    with pytest.raises(Lost, match="token 4 of few/0"):
        hold_against(model, found)
    found.tokens["few/0"][4] = VOCAB
    with pytest.raises(Lost, match="no number from 0 to 1023"):
        hold_against(model, found)


def test_sleeping_moves_no_clock(racer_of: Callable[[str], Racer]) -> None:
    source = "class CapstoneEngine(Naive):\n    def step(self):\n        time.sleep(0.2)\n        return super().step()"
    assert played(racer_of(over_naive(source)), few(2)).seconds < 0.5 * 12 * 0.2


def test_a_second_thread_is_on_the_same_clock(racer_of: Callable[[str], Racer]) -> None:
    source = """
class CapstoneEngine(Naive):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.ready = collections.deque()
        threading.Thread(target=self.work, daemon=True).start()

    def work(self):
        while not self.queue:
            time.sleep(0.001)
        while self.queue:
            self.ready.extend(Naive.step(self))

    def step(self):
        time.sleep(0.02)
        return [self.ready.popleft() for _ in range(len(self.ready))]

    @property
    def has_work(self):
        return bool(self.queue or self.ready)
"""
    alone = played(racer_of(naive_source()), few(2, tokens=30))
    found = played(racer_of(over_naive(source)), few(2, tokens=30))
    assert found.seconds > 0.7 * alone.seconds


def test_set_up_has_an_allowance(racer_of: Callable[[str], Racer], monkeypatch: pytest.MonkeyPatch) -> None:
    burn = "end = time.process_time() + 0.6\n{0}while time.process_time() < end: pass"
    source = "class CapstoneEngine(Naive):\n    def __init__(self, *a, **k):\n        super().__init__(*a, **k)\n        "
    source += burn.format(8 * " ")
    assert played(racer_of(over_naive(source)), few(1)).setup_seconds >= 0.6
    monkeypatch.setattr(playing, "SETUP_SECONDS", 0.3)
    with pytest.raises(Lost, match=r"set-up took 0\.\d s of processor time, allowed are 0\.3"):
        played(racer_of(over_naive(source)), few(1))
    monkeypatch.setattr(entering, "SETUP_SECONDS", 0.3)
    outcome = entering.enter([Cell("CapstoneEngine", over_naive(burn.format("")))], 1)
    assert outcome.fault is not None
    assert outcome.fault.startswith("the cells took")


def test_what_is_kept_of_an_earlier_run_is_never_asked_again(racer_of: Callable[[str], Racer]) -> None:
    racer = racer_of(
        over_naive("""
known, hits = {}, []

class CapstoneEngine(Naive):
    def add(self, request_id, prompt_ids, max_tokens):
        hits.extend(key for key in known if key == tuple(prompt_ids[: len(key)]))
        known[tuple(prompt_ids[:16])] = True
        super().add(request_id, prompt_ids, max_tokens)
""")
    )
    for label in ("round 0, rate 1", "round 1, rate 1"):
        cut = [Asked(each.request_id, each.prompt, 1) for each in requests(Draw(1, label), 64, VOCAB) if len(each.prompt) >= 16]
        played(racer, cut[:12])
    shared = len(racer.value("hits"))
    assert len(racer.value("known")) + shared == 24  # hits are within one run, where prefixes are shared


def test_tokens_held_back_are_late_from_when_they_are_handed_over(racer_of: Callable[[str], Racer]) -> None:
    racer = racer_of(
        over_naive("""
class CapstoneEngine(Naive):
    held = ()
    def step(self):
        self.held = [*self.held, *super().step()]
        if self.queue:
            return []
        given, self.held = self.held, ()
        return given
""")
    )
    for trace in played(racer, few()).traces:
        assert trace is not None
        assert trace.ttft == trace.e2e > 0


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ("return [('few/9', 1)]", "'few/9', which is not open"),
        ("got = super().step(); return got * 9", "which is not open"),
        ("self.queue.clear(); return [(f'few/{n}', 1) for n in range(3)]", "tokens of 3 requests, max_running is 2"),
        ("return 5", "no list of"),
        ("return [('few/0', True)]", "where \\(request_id, token_id\\) was due"),
        ("return [('few/0', 1, 2)]", "where \\(request_id, token_id\\) was due"),
    ],
)
def test_tokens_that_nobody_is_due(racer_of: Callable[[str], Racer], step: str, said: str) -> None:
    racer = racer_of(over_naive(f"class CapstoneEngine(Naive):\n    def step(self):\n        {step}"))
    with pytest.raises(Lost, match=said):
        played(racer, few(), max_running=2)


def test_requests_that_are_dropped_earn_nothing(racer_of: Callable[[str], Racer]) -> None:
    racer = racer_of(
        over_naive("""
class CapstoneEngine(Naive):
    def add(self, request_id, prompt_ids, max_tokens):
        if request_id.endswith("0"):
            super().add(request_id, prompt_ids, max_tokens)
""")
    )
    found = played(racer, few())
    assert [trace is None for trace in found.traces] == [False, True, True]
    assert found.goodput(1e9, 1e9) == pytest.approx(6 / found.seconds)
    with pytest.raises(Lost, match="asked for 6 tokens and got 0"):
        rightness._whole(found.asked, found.tokens)


def test_work_without_end_is_no_work(racer_of: Callable[[str], Racer]) -> None:
    with pytest.raises(Lost, match="has_work is true though"):
        played(racer_of(over_naive("class CapstoneEngine(Naive):\n    has_work = True")), few(1))


def test_a_cache_that_is_too_large_is_found(racer_of: Callable[[str], Racer]) -> None:
    source = """
kept = []

class CapstoneEngine(Naive):
    def step(self):
        kept.append(torch.ones(4 * 1024**2))
        return super().step()
"""
    with pytest.raises(Lost, match=r"memory grew by \d\d,\d\d\d,\d\d\d bytes, allowed are 4,194,304 for keys and values"):
        played(racer_of(over_naive(source)), few())


def test_memory_that_the_cells_took_beforehand_counts(racer_of: Callable[[str], Racer]) -> None:
    racer = racer_of(over_naive("taken = torch.ones(16 * 1024**2)\nclass CapstoneEngine(Naive): pass"))
    played(racer, few(1))  # against itself nothing has grown
    racer.baseline = racer_of(naive_source()).bytes_at_first()
    with pytest.raises(Lost, match="memory grew by"):
        played(racer, few(1))


def test_what_a_thread_does_between_two_runs_is_set_up(racer_of: Callable[[str], Racer], monkeypatch: pytest.MonkeyPatch) -> None:
    source = """
def burn():
    end = time.process_time() + 2.0
    while time.process_time() < end:
        pass

class CapstoneEngine(Naive):
    def step(self):
        got = super().step()
        if not self.queue:
            threading.Thread(target=burn, daemon=True).start()
        return got
"""
    racer = racer_of(over_naive(source))
    played(racer, few(1, label="first"))
    until = racer.clock() + 1.0
    deadline = time.monotonic() + 60.0
    while racer.clock() < until and time.monotonic() < deadline:
        time.sleep(0.05)
    monkeypatch.setattr(playing, "SETUP_SECONDS", 0.9)
    with pytest.raises(Lost, match="set-up took"):
        played(racer, few(1, label="second"))


def test_a_processs_own_clock_is_not_read(racer_of: Callable[[str], Racer]) -> None:
    source = "time.process_time = time.perf_counter = time.monotonic = lambda: 0.0\nclass CapstoneEngine(Naive): pass"
    assert played(racer_of(over_naive(source)), few(1)).seconds > 0


# The clock and the score


def made(times: dict[str, list[float]], asked: list[Asked], seconds: float) -> Played:
    tokens = {name: [1] * len(each) for name, each in times.items()}
    return Played(asked, tokens=tokens, times=times, seconds=seconds)


def test_goodput_by_hand() -> None:
    """a keeps both promises, b's first token comes late, c's last gap is long, d lacks a token: 3 tokens in 4 s."""
    asked = [Asked(name, [1], 3, 1.0) for name in "abcd"]
    times = {"a": [1.5, 1.6, 1.7], "b": [1.51, 1.6, 1.7], "c": [1.2, 1.3, 1.5], "d": [1.2, 1.3]}
    assert made(times, asked, 4.0).goodput(0.505, 0.15) == 3 / 4.0


def test_a_rate_is_over_all_rounds_and_the_score_over_the_mean_of_both_references() -> None:
    asked = [Asked("a", [1], 3)]

    def one(seconds: float) -> Played:
        return made({"a": [0.1, 0.2, 0.3]}, asked, seconds)

    rate = running._rate(2.0, Promises(1.0, 1.0, 1.0), [(one(1.0), one(2.0), one(2.0)), (one(2.0), one(1.0), one(3.0))])
    assert (rate.goodput, rate.reference, rate.again) == (2.0, 2.0, 1.2)
    assert rate.score == pytest.approx(2.0 / 1.6)
    assert (rate.kept, rate.reference_kept) == (1.0, 1.0)
    assert rate.ttft_p99 == pytest.approx(0.1)


def test_the_clock_jumps_over_what_nobody_waits_in(racer_of: Callable[[str], Racer]) -> None:
    asked = [Asked("now", [5, 6], 2, 0.0), Asked("much later", [5, 6], 2, 500.0)]
    found = played(racer_of(naive_source()), asked)
    assert 500.0 < found.seconds < 510.0
    assert all(trace is not None and trace.ttft < 5.0 for trace in found.traces)


# The board, the files, the command


def outcome_of(score: float | None = 1.25) -> Outcome:
    rates = [Rate(rate, 1250.0, 1000.0, 1000.0, 0.05, 0.004, 0.9, 0.8) for rate in running.RATES]
    return Outcome(7, [Part("one", None), Part("two", "wrong")], Promises(0.1, 0.01, 60.0), rates, score, 0.02, None, 12.0)


def test_the_board_has_no_name_that_was_not_chosen_and_puts_the_verified_on_top(tmp_path: Path) -> None:
    board.add(tmp_path, board.entry_of(outcome_of(9.0), "", "run with --local, without walls"))
    page = board.add(tmp_path, board.entry_of(outcome_of(1.25), "<b>ada</b>", "")).read_text()
    first, second = (page.index(text) for text in ("&lt;b&gt;ada", "somebody"))
    assert first < second
    assert "not verified: run with --local" in page[second:]
    for text in ("<td>1.25</td>", "<td>1,250</td>", "<td>50.0 ms</td>", "<td>4.0 ms</td>", "<td>7</td>", "+2.0%"):
        assert text in page
    assert "<script" not in page
    assert "http" not in page


def test_gradescope_gets_points_for_being_right_and_a_place_for_a_verified_score() -> None:
    made = race_results(outcome_of())
    assert made["score"] == 1
    assert [test["status"] for test in made["tests"]] == ["passed", "failed"]
    assert made["leaderboard"][0] == {"name": "goodput x reference", "value": 1.25, "order": "desc"}
    assert made["extra_data"]["race"]["score"] == 1.25
    json.dumps(made, allow_nan=False)
    assert "leaderboard" not in race_results(outcome_of(), "run with --local")
    assert "leaderboard" not in race_results(outcome_of(None))


def test_a_reference_that_disagrees_with_itself_is_no_measure() -> None:
    outcome = outcome_of(None)
    outcome.differs = -0.11
    assert outcome.inconclusive
    outcome.differs = 0.09
    assert not outcome.inconclusive


def test_the_notebook_is_as_it_would_be_built() -> None:
    assert capstone_path().read_bytes() == capstone_bytes()


def test_a_released_notebook_is_an_entry_and_its_demo_is_not(tmp_path: Path) -> None:
    target = tmp_path / "capstone.ipynb"
    target.write_bytes(capstone_bytes())
    cells = entering.student_cells(target)
    assert [cell.name for cell in cells] == ["setup", "CapstoneEngine"]
    assert "class CapstoneEngine:" in cells[1].source


def test_a_notebook_without_an_engine_is_told_as_that() -> None:
    outcome = entering.enter([Cell("CapstoneEngine", "1 / 0")], 1)
    assert outcome.fault == "there is no CapstoneEngine: its cell did not run to its end: ZeroDivisionError: division by zero"


def test_a_missing_notebook_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COURSE_WORK", str(tmp_path))
    with pytest.raises(CourseError, match=r"no notebook at .*`autograder work` puts the released one there"):
        entering.notebook_of(None)


def test_help_stands_alone() -> None:
    said = " ".join(CliRunner().invoke(app, ["race", "--help"]).output.split())
    assert "goodput" in said
    assert "not verified" in said


@pytest.mark.slow
def test_a_cache_that_is_never_freed_fills_the_memory(racer_of: Callable[[str], Racer]) -> None:
    source = """
kept = []

class CapstoneEngine(Naive):
    def step(self):
        if self.cache is not None and self.cache not in kept:
            kept.append(self.cache)
        return super().step()
"""
    model = load_model("tiny", dtype=torch.float64)
    with pytest.raises(Lost, match="memory grew"):
        rightness.crowded(racer_of(over_naive(source)), model, Draw(1, "crowded"))
    for right in (naive_source(), DAY14):
        rightness.crowded(racer_of(right), model, Draw(1, "crowded"))


@pytest.mark.slow
def test_a_short_race_from_a_notebook_to_the_board(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The naive engine is right and slow: all points, and a score well below 1 or none where the machine is too busy to tell."""
    target = tmp_path / "capstone.ipynb"
    target.write_bytes(capstone_bytes())
    outcome = entering.enter(entering.student_cells(target), 11, count=24, rounds=1)
    assert outcome.points == 4
    assert outcome.fault is None
    assert outcome.inconclusive or (outcome.score is not None and outcome.score < 0.7)
