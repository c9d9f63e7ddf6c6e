"""How the suite's tests are shared out between two processes, tried on a suite of its own."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
TEN = """
import time
import pytest

@pytest.mark.parametrize("number", range(10))
def test_it(number):
    time.sleep(0.05)
"""

TEN_FOR_BOTH = """
import os
import time
from pathlib import Path
import pytest

@pytest.mark.parametrize("number", range(10))
def test_it(number):
    (Path(__file__).parent / f"{os.getpid()}.here").touch()
    until = time.monotonic() + 60
    while len(list(Path(__file__).parent.glob("*.here"))) < 2:
        assert time.monotonic() < until, "the other process never came"
        time.sleep(0.05)
"""
"""The first process waits for the other: on a busy machine it might else have done all of them before that one is there."""

ENDS_ITS_PROCESS = """
import os

def test_before(): pass
def test_that_ends_its_process(): os._exit(1)
def test_behind(): pass
"""

LATE = """
import time
from xdist.workermanage import Marker, WorkerController

process = WorkerController.process_from_remote

def process_late(node, event):
    if event is Marker.END:
        time.sleep(1)
    process(node, event)

WorkerController.process_from_remote = process_late

def pytest_runtest_logreport(report):
    if "test_before" in report.nodeid and hasattr(report, "node"):
        time.sleep(0.1)
"""
"""When `test_before` is heard of, its process has ended, and word of that has not come: what is sent to it finds a broken pipe."""


def as_here(folder: Path) -> None:
    """Makes a folder whose tests are collected and shared out as the project's are."""
    folder.mkdir(exist_ok=True)
    (folder / "__init__.py").touch()
    for name in ("conftest.py", "kept.py", "kept_files.py"):
        shutil.copy(TESTS / name, folder)


def by_two(folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    """The tests of a folder, as `make test` runs the project's."""
    command = [sys.executable, "-m", "pytest", "-v", "-n", "2", "--dist", "loadscope", "--no-loadscope-reorder", "-p", "no:cacheprovider"]
    return subprocess.run([*command, *more, "--rootdir", folder, folder], cwd=folder, capture_output=True, text=True, timeout=300)


def test_a_file_has_one_process_and_one_of_those_apart_has_both(tmp_path):
    """A server or a class that a file's tests share is made once, and what shares nothing fills both cores."""
    as_here(tmp_path)
    for name in ("test_days", "test_browser", "test_zoo", "test_demo"):
        (tmp_path / f"{name}.py").write_text(TEN_FOR_BOTH if name == "test_days" else TEN)
    ran = by_two(tmp_path)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    who: dict[str, set[str]] = {}
    for process, file in re.findall(r"\[(gw\d)\].* PASSED (\w+)\.py::", ran.stdout):
        who.setdefault(file, set()).add(process)
    assert {file: len(processes) for file, processes in who.items()} == {"test_days": 2, "test_browser": 1, "test_zoo": 1, "test_demo": 1}
    first = re.search(r"PASSED (\w+)\.py", ran.stdout)
    assert first
    assert first[1] in ("test_browser", "test_days")  # the longest begin


@pytest.mark.parametrize("late", [False, True])
def test_where_a_process_ends_the_others_tests_are_run_and_the_run_ends(tmp_path, late):
    as_here(tmp_path)
    files = ("test_demo", "test_browser", "test_days", "test_crash", "test_grading", "test_kernel", "test_yak", "test_zoo")
    for name in files:
        (tmp_path / f"{name}.py").write_text(ENDS_ITS_PROCESS if name == "test_crash" else TEN)
    (tmp_path / "late.py").write_text(LATE)
    ran = by_two(tmp_path, *(["-p", "late"] if late else []))
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert f"1 failed, {10 * (len(files) - 1) + 2} passed" in ran.stdout
    assert re.search(r"FAILED.* test_crash.py::test_that_ends_its_process", ran.stdout)
