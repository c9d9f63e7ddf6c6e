"""What is said of the race's spread, on the page and in the handbook, is what was measured."""

import importlib
import json

import pytest

from course.kit import paths

RESULTS = paths.ROOT / "benchmarks" / "results"


def test_the_pages_are_what_the_figures_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(paths.ROOT / "benchmarks"))
    race = importlib.import_module("race")
    result = json.loads((RESULTS / "data" / "race.json").read_text(encoding="utf-8"))
    due = [(name, seed) for name, seeds in race.ENGINES.items() for seed in seeds]
    assert [(row["engine"], row["seed"]) for row in result["rows"]] == due
    assert (RESULTS / "race.md").read_text(encoding="utf-8") == race.page(result)
    assert race.spreads(result["rows"]) in (paths.ROOT / "docs" / "race.md").read_text(encoding="utf-8")
