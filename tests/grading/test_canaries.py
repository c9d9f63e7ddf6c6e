"""The result of canaries is cached, until something that it depends on changes."""

from dataclasses import replace

import pytest

from autograder.base import cache
from autograder.base.errors import InfrastructureFault
from autograder.grading import canaries as cached
from autograder.grading import grade, verdict_inputs
from autograder.grading.grade import Options
from autograder.lessons import find_day
from autograder.sandbox.confine.limits import Limits
from autograder.sandbox.process import forkserver_pool

DAY = find_day("softmax")
OPTIONS = Options(seed=5)


@pytest.fixture
def shown(monkeypatch, tmp_path):
    """The days whose canaries were graded; the cache is empty at first."""
    seen: list[str] = []
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setattr(grade, "canaries", lambda day, options: seen.append(day.slug))
    return seen


def test_what_came_out_right_is_not_graded_again(shown):
    for _ in range(3):
        cached.canaries(DAY, OPTIONS)
    assert shown == [DAY.slug]
    cached.canaries(find_day("tokenizer"), OPTIONS)
    assert len(shown) == 2


@pytest.mark.parametrize(
    "change",
    [
        lambda monkeypatch: {"seed": 6},
        lambda monkeypatch: {"limits": replace(Limits(), cell_seconds=3.0)},
        lambda monkeypatch: monkeypatch.setattr(forkserver_pool, "level", lambda: "another"),
        lambda monkeypatch: monkeypatch.setattr(verdict_inputs, "of_day", lambda day: "another lesson"),
        lambda monkeypatch: monkeypatch.setattr(verdict_inputs, "environment", lambda: {"torch": "99"}),
        lambda monkeypatch: monkeypatch.setattr(cached.platform, "platform", lambda: "another kernel"),
    ],
)
def test_they_are_graded_again_where_what_they_test_is_another(change, shown, monkeypatch):
    cached.canaries(DAY, OPTIONS)
    cached.canaries(DAY, replace(OPTIONS, **(change(monkeypatch) or {})))
    assert len(shown) == 2


def test_a_fault_is_never_cached(shown, monkeypatch):
    def fault(day, options):
        shown.append("fault")
        raise InfrastructureFault("the reference got nothing")

    monkeypatch.setattr(grade, "canaries", fault)
    for _ in range(2):
        with pytest.raises(InfrastructureFault, match="got nothing"):
            cached.canaries(DAY, OPTIONS)
    assert shown == ["fault", "fault"]


def test_where_nothing_can_be_written_they_are_graded_each_time(shown, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "file"))
    for _ in range(2):
        cached.canaries(DAY, OPTIONS)
    assert len(shown) == 2


def test_without_a_cache_they_are_graded_each_time(shown, monkeypatch):
    monkeypatch.setenv(cache.VARIABLE, cache.OFF)
    for _ in range(2):
        cached.canaries(DAY, OPTIONS)
    assert len(shown) == 2


def test_old_entries_go(shown, monkeypatch, tmp_path):
    monkeypatch.setattr(cached, "MOST", 3)
    for seed in range(6):
        cached.canaries(DAY, Options(seed=seed))
    assert len(list((tmp_path / "cache" / "canaries").iterdir())) == 3
    cached.canaries(DAY, Options(seed=5))
    assert len(shown) == 6
