"""The benchmark of serving policies runs, and the page is what its figures say."""

import importlib
import json
from types import ModuleType

import pytest
import torch

from autograder.checking.helpers.cached import whole
from course.kit import paths
from solutions.engine import PackedModel
from solutions.latency import Trace


@pytest.fixture
def serving(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(paths.ROOT / "benchmarks"))
    monkeypatch.setattr(torch, "set_num_threads", lambda n: None)  # it would hold for all tests behind this one
    return importlib.import_module("serving")


def test_a_few_requests_are_served_in_every_way_and_nothing_is_written(serving, monkeypatch, capsys) -> None:
    monkeypatch.setattr(serving, "save", None)
    assert serving.main(["--requests", "6", "--model", "tiny", "--rate", "50"]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert [row.split(" | ")[0].removeprefix("| ") for row in rows] == list(serving.POLICIES)


def test_the_shorter_trace_is_the_beginning_of_the_longer_one(serving) -> None:
    assert serving.trace(5, 1024, 1.0) == serving.trace(9, 1024, 1.0)[:5]


class Counting:
    """A clock that moves by one each time it is read, and jumps."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1
        return self.now

    def wait_until(self, moment: float) -> None:
        self.now = max(self.now, moment)


def test_nobody_is_seen_before_his_time_and_a_static_batch_waits_for_its_last(serving) -> None:
    model = PackedModel(whole(torch.float32).weights_only())
    jobs = [serving.Job(arrival, [5, 6, 7], new) for arrival, new in ((0.0, 2), (0.5, 9), (3.0, 2), (1000.0, 2))]
    static, chunked = (serving.POLICIES[name](model, jobs, Counting()) for name in ("static, 8", "budget 64"))
    for traces in (static, chunked):
        assert [trace.arrival for trace in traces] == [job.arrival for job in jobs]
        assert [len(trace.token_times) for trace in traces] == [job.new for job in jobs]
        assert all(trace.ttft > 0 for trace in traces)
        assert traces[3].token_times[0] >= 1000
    assert static[2].token_times[0] > static[1].token_times[-1]
    assert chunked[2].token_times[0] < chunked[1].token_times[-1]


def test_the_page_is_what_the_figures_say(serving, monkeypatch, tmp_path) -> None:
    result = json.loads((serving.RESULTS / "data" / "serving.json").read_text(encoding="utf-8"))
    jobs = serving.trace(serving.REQUESTS, 49_152, serving.RATE)
    assert result["arrivals"] == [job.arrival for job in jobs]
    assert [row["policy"] for row in result["rows"]] == list(serving.POLICIES)
    for row in result["rows"]:
        assert [len(moments) for moments in row["token_ms"]] == [job.new for job in jobs]
        traces = [Trace(job.arrival, [ms / 1e3 for ms in moments]) for job, moments in zip(jobs, row["token_ms"], strict=True)]
        for name, value in serving.figures(traces).items():
            assert row[name] == pytest.approx(value, rel=0.02, abs=0.006)  # one request more or less, where a millisecond decides
    assert (serving.RESULTS / "serving.md").read_text(encoding="utf-8") == serving.page(result).rstrip() + "\n"
    monkeypatch.setattr(serving, "RESULTS", tmp_path)
    serving.draw(result)
    assert (tmp_path / "serving.svg").stat().st_size > 10_000
