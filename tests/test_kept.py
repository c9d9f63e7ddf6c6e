"""What tests keep of their results: when a test has to run all the same, and what is kept of it."""

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from autograder.lessons import ROOT

from . import kept as keeping
from .depends import content
from .test_shared_out import as_here

HERE = "tests/test_some.py::test_one[none]"


def a_test():
    assert True


@pytest.fixture
def asked(tmp_path):
    """Asks for one test's result, and gives what was noted: the digest, and why it has to run."""

    def ask(*depends, function=a_test, keep=False):
        noted = []
        known = keeping.Keeping(HERE, function, lambda *told: noted.append(told), keep=keep, folder=tmp_path)(*depends)
        ((digest, why),) = noted
        assert known == (why == "")
        return digest, why

    return ask


def test_what_passed_is_kept_until_something_that_it_depends_on_changes(asked, tmp_path, monkeypatch):
    monkeypatch.setenv("KEPT_DRAW", "none")
    digest, why = asked("x", 1)
    assert why == "not kept"
    keeping.keep({HERE: digest}, whole=True, folder=tmp_path)
    assert asked("x", 1) == (digest, "")
    assert asked("x", 2)[1] == asked("x")[1] == "not kept"
    assert asked("x", 1, function=textwrap.dedent)[1] == "not kept", "the test itself is another"


def test_of_what_is_kept_some_is_drawn_but_not_while_keeping(asked, tmp_path, monkeypatch):
    keeping.keep({HERE: asked("x")[0]}, whole=True, folder=tmp_path)
    for draw, why in (("all", "drawn"), ("test_one", "drawn"), ("test_two", ""), ("none", "")):
        monkeypatch.setenv("KEPT_DRAW", draw)
        assert asked("x")[1] == why
        assert asked("x", keep=True)[1] == ""
    monkeypatch.delenv("KEPT_DRAW")
    for luck, why in ((keeping.SHARE * 0.99, "drawn"), (keeping.SHARE, "")):
        monkeypatch.setattr(keeping.random, "random", lambda luck=luck: luck)
        assert asked("x")[1] == why


def test_a_whole_run_drops_what_is_gone_and_a_part_of_one_does_not(tmp_path):
    keeping.keep(
        {"tests/test_some.py::test_one": "1", "tests/test_some.py::test_two": "2", "tests/test_other.py::test_one": "3"},
        whole=True,
        folder=tmp_path,
    )
    keeping.keep({"tests/test_some.py::test_two": "4"}, whole=False, folder=tmp_path)
    assert keeping.read(tmp_path, "test_some") == {"test_one": "1", "test_two": "4"}
    keeping.keep({"tests/test_some.py::test_two": "5"}, whole=True, folder=tmp_path)
    assert keeping.read(tmp_path, "test_some") == {"test_two": "5"}
    assert keeping.read(tmp_path, "test_other") == {"test_one": "3"}


def test_what_had_to_run_is_told_by_name_or_number():
    ran = {f"tests/test_some.py::test_{n}": "drawn" for n in range(11)} | {"tests/test_other.py::test_a": "not kept"}
    assert keeping.told(ran) == ["test_other: test_a: not kept", "test_some: 11 tests: drawn"]


SOME = """
import pytest

@pytest.mark.parametrize("n", [1, 2, 3])
def test_small(n, kept):
    if not kept(n):
        assert n < 3

def test_of_nothing_kept():
    assert False
"""


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [[], ["-n", "2"]], ids=["one process", "two"])
def test_keeping_runs_those_alone_that_are_kept_and_keeps_what_passes(jobs, tmp_path):
    folder = tmp_path / "tests"
    as_here(folder)
    (folder / "test_some.py").write_text(SOME)

    def run(*options):
        return subprocess.run([sys.executable, "-m", "pytest", *jobs, *options], cwd=tmp_path, capture_output=True, text=True).stdout

    assert "1 failed, 2 passed" in run("--keep")
    kept = keeping.read(folder / "kept", "test_some")
    assert list(kept) == ["test_small[1]", "test_small[2]"]
    again = run("--keep", "-k", "test_small and not 1")
    assert "1 failed, 1 passed" in again
    assert "test_some: test_small[3]: not kept" in again
    assert keeping.read(folder / "kept", "test_some") == kept


def test_where_a_checkout_lies_is_no_part_of_a_digest():
    inside = Path("tests/kept.py")
    assert content([ROOT / inside]) == content([inside]) != content([Path("tests/depends.py")])
