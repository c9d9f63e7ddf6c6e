"""What is said of two replicas, on the page, in the lesson and in the handbook, is what was measured."""

import importlib
import json
from types import ModuleType

import pytest

from autograder.serving.router import BEGINNING
from course.kit import load_tokenizer, paths

RESULTS = paths.ROOT / "benchmarks" / "results"
DATA = RESULTS / "data" / "replicas.json"


@pytest.fixture
def replicas(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(paths.ROOT / "benchmarks"))
    return importlib.import_module("replicas")


@pytest.mark.skipif(not DATA.exists(), reason="not measured yet: python benchmarks/replicas.py, six quiet minutes")
def test_the_page_is_what_the_figures_say(replicas) -> None:
    result = json.loads(DATA.read_text(encoding="utf-8"))
    assert [(row["cache"], row["route"]) for row in result["rows"]] == [(c, r) for c in replicas.CACHES for r in replicas.ROUTES]
    for row in result["rows"]:
        assert len(row["ttft_ms"]) == sum(row["at_each"]) == result["requests"] == replicas.REQUESTS
    assert (RESULTS / "replicas.md").read_text(encoding="utf-8") == replicas.page(result)
    handbook = (paths.ROOT / "docs" / "serving.md").read_text(encoding="utf-8")
    lesson = (paths.ROOT / "course" / "day18_serving" / "lesson.md").read_text(encoding="utf-8")
    assert replicas.table(result["rows"]) in handbook
    assert replicas.table(result["rows"]) in lesson


def test_the_chats_begin_alike_by_houses_and_differ_before_the_router_stops_reading(replicas) -> None:
    asked = replicas.chats(replicas.REQUESTS)
    systems = {messages[0]["content"] for messages in asked}
    assert len(systems) == len(replicas.HOUSES)
    assert len({text[:BEGINNING] for text in systems}) == len(systems)
    tokenizer = load_tokenizer("tiny")
    assert all(len(tokenizer.encode(text)) > 400 for text in systems)
