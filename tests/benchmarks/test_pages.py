"""What pages, lessons and handbooks say of servers, replicas, races and serving policies is what was measured."""

import importlib
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from autograder.checking.helpers.cached import whole
from autograder.serving.router import BEGINNING
from course.kit import load_tokenizer, paths
from solutions.engine import PackedModel
from solutions.latency import Trace

RESULTS = paths.ROOT / "benchmarks" / "results"
DOCS = paths.ROOT / "docs"
LESSON = paths.ROOT / "course" / "day18_serving" / "lesson.md"


def benchmark(monkeypatch: pytest.MonkeyPatch, name: str) -> ModuleType:
    monkeypatch.syspath_prepend(str(paths.ROOT / "benchmarks"))
    return importlib.import_module(name)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return benchmark(monkeypatch, "server")


@pytest.fixture
def replicas(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return benchmark(monkeypatch, "replicas")


def measured(name: str) -> dict[str, Any]:
    return dict(json.loads((RESULTS / "data" / f"{name}.json").read_text(encoding="utf-8")))


def test_the_race_s_page_and_handbook_are_what_the_figures_say(monkeypatch: pytest.MonkeyPatch) -> None:
    race, result = benchmark(monkeypatch, "race"), measured("race")
    expected = [(name, seed) for name, seeds in race.ENGINES.items() for seed in seeds]
    assert [(row["engine"], row["seed"]) for row in result["rows"]] == expected
    assert (RESULTS / "race.md").read_text(encoding="utf-8") == race.page(result)
    assert race.spreads(result["rows"]) in (DOCS / "race.md").read_text(encoding="utf-8")


def test_the_server_s_page_and_handbook_are_what_the_figures_say(server) -> None:
    result = measured("server")
    for rows in result["runs"].values():
        assert tuple(row["rate"] for row in rows) == server.RATES
        assert all(row["served"] + row["refused"] == server.REQUESTS for row in rows)
    assert (RESULTS / "server.md").read_text(encoding="utf-8") == server.page(result)
    assert server.table(result["runs"]) in (DOCS / "serving.md").read_text(encoding="utf-8")


def test_llama_server_is_asked_with_each_file_by_its_own_name(server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server.shutil, "which", lambda name: f"/opt/{name}")
    assert list(server.commands(1)) == ["ours", "llama-server"]
    found = server.commands(1, Path("/tmp/fast.gguf"))
    assert found["llama-server"][:3] == ["/opt/llama-server", "-m", str(paths.SMOLLM2)]
    assert found["llama-server, Q4_0"][:3] == ["/opt/llama-server", "-m", "/tmp/fast.gguf"]


def test_where_no_server_of_llama_cpp_is_installed_ours_is_alone(server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(server.shutil, "which", lambda name: None)
    monkeypatch.setattr(server.importlib.util, "find_spec", lambda name: None)
    assert list(server.commands(1)) == ["ours"]
    assert server.build() == ""
    assert server.in_fastest_format(tmp_path) is None


def test_the_replicas_pages_lesson_and_handbook_are_what_the_figures_say(replicas) -> None:
    result = measured("replicas")
    assert [(row["cache"], row["route"]) for row in result["rows"]] == [(c, r) for c in replicas.CACHES for r in replicas.ROUTES]
    for row in result["rows"]:
        assert len(row["ttft_ms"]) == sum(row["at_each"]) == result["requests"] == replicas.REQUESTS
    assert (RESULTS / "replicas.md").read_text(encoding="utf-8") == replicas.page(result)
    assert replicas.table(result["rows"]) in (DOCS / "serving.md").read_text(encoding="utf-8")
    assert replicas.table(result["rows"]) in LESSON.read_text(encoding="utf-8")


def test_the_chats_begin_alike_by_houses_and_differ_before_the_router_stops_reading(replicas) -> None:
    asked = replicas.chats(replicas.REQUESTS)
    systems = {messages[0]["content"] for messages in asked}
    assert len(systems) == len(replicas.HOUSES)
    assert len({text[:BEGINNING] for text in systems}) == len(systems)
    tokenizer = load_tokenizer("tiny")
    assert all(len(tokenizer.encode(text)) > 400 for text in systems)


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
