"""What pages, lessons and handbooks say of servers, replicas and races is what was measured."""

import importlib
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from autograder.serving.router import BEGINNING
from course.kit import load_tokenizer, paths

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
