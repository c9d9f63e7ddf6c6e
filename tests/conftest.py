"""What a test found out and a reader should see though it passed: `record_property("says", text)` brings it to the end of the output.

And which tests one process of several runs (`make test` has two): those of a file that share a server or a class stay together, all
others go to whoever is free. The long ones begin, so that no core is without work at the end.

`--one-process` (`make quick`) skips a test where it starts another process: a worker, a command, a kernel. That is where the time goes.

A test whose result is kept by a digest of what it depends on (kept.py) runs where that has changed, and now and then: `--keep` runs those
that are not kept, no others, and keeps what passes. Long files are kept as a whole, by what they read (kept_files.py).
"""

from __future__ import annotations

import contextlib
import functools
import gc
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from . import kept as keeping
from . import kept_files

gc.disable()  # while all that tests import is imported: there are no cycles to find, and to look for them takes half of the time

LONG_FIRST = (
    "test_class_server", "test_browser", "test_cluster", "test_written_tests", "test_accessibility", "test_race", "test_site",
    "test_certify", "test_pytest_plugin", "test_bundle", "test_days", "test_resume", "test_instructor", "test_steppers",
    "test_bridge", "test_attacks", "test_grading", "test_gloo", "test_demo", "test_site_parts", "test_isolation",
    "test_processes", "test_replicas", "test_chat_page", "test_serve_command", "test_day17_lesson", "test_near", "test_mutation",
    "test_mistakes", "test_kernel", "test_serve", "test_serve_load",
)  # fmt: skip
"""Files with a test, or a shared set-up, of many seconds. The others follow in the order of their names."""
APART = ("test_days", "test_near", "test_certify", "test_attacks", "test_mistakes", "test_mutation")
"""Files whose tests share nothing: each goes by itself."""


STARTS = frozenset({"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.system"})
"""Python's audit events of a process that is about to start."""
BY_READING = "-"
"""In the place of a digest: the test's file is kept as a whole."""
KEPT = "kept: all that it reads is as it was when it passed"
kept_tests = functools.cache(kept_files.kept_tests)
at_test = False
"""Whether a test is run, or its set-up: what pytest itself starts is not stopped."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--one-process", action="store_true", help="skip a test where it starts a process")
    parser.addoption("--passed", metavar="FILE", help="write the names of the tests that passed, without their file's")
    parser.addoption("--keep", action="store_true", help="run what is kept of tests where it is due, no other test, and keep what passes")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("keyword") or any(".py" in Path(argument).name for argument in config.args):
        os.environ.setdefault("KEPT_DRAW", "all")  # who names a test wants it run
    if config.getoption("--one-process"):
        sys.addaudithook(skip_at_a_process)  # for good: there is no way to take one back


def skip_at_a_process(event: str, arguments: tuple[Any, ...]) -> None:
    if at_test and event in STARTS:
        pytest.skip("it starts a process: `make test` runs it")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Iterator[None]:
    global at_test
    at_test = True
    try:
        return (yield)
    finally:
        at_test = False


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Before anything is set up for a test whose file is kept."""
    file, name = keeping.place(item.nodeid)
    if file not in kept_files.FILES:
        return
    why = "not kept" if name not in kept_tests(file) else "drawn" if keeping.is_drawn(item.nodeid) else ""
    item.user_properties.append((keeping.PROPERTY, f"{BY_READING} {why}"))
    if not why:
        pytest.skip(KEPT)


def pytest_report_teststatus(report: pytest.TestReport) -> tuple[str, str, str] | None:
    return ("kept", "k", "KEPT") if report.skipped and KEPT in str(report.longrepr) else None


@pytest.fixture
def kept(request: pytest.FixtureRequest, record_property: Callable[[str, object], None]) -> keeping.Keeping:
    def note(digest: str, why: str) -> None:
        record_property(keeping.PROPERTY, f"{digest} {why}")

    return keeping.Keeping(request.node.nodeid, request.function, note, keep=request.config.getoption("--keep"))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Files in the order of LONG_FIRST."""
    if config.getoption("--keep"):
        items[:] = [item for item in items if "kept" in getattr(item, "fixturenames", ())]
    if config.pluginmanager.hasplugin("xdist"):
        items.sort(key=lambda item: place(item.path))


def pytest_collection_finish() -> None:
    """What is there now stays to the end: the collector need not look at it again and again."""
    kept_files.project(kept_files.ROOT)  # asks git, which `--one-process` would not let a test do
    gc.freeze()
    gc.enable()


@pytest.hookimpl(optionalhook=True)  # where there is no xdist there is no such hook
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """A file goes to one process, but those of APART test by test. (xdist's own groups, by mark, do nothing with pytest 9.)"""
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            return nodeid if Path(file).stem in APART else file

        def remove_node(self, node: Any) -> str | None:
            """A process has ended: at which test, if it was at one. What it had not begun goes to the others.

            xdist gives them what was done, too. Who gets a file of which all is done never asks for another: the run waited for ever.
            """
            left = {scope: [test for test, done in unit.items() if not done] for scope, unit in self.assigned_work.pop(node).items()}
            order = [(scope, test) for scope, tests in left.items() for test in tests]
            for scope, test in order[1:]:
                self.workqueue.setdefault(scope, {})[test] = False
            for other in self.assigned_work if order else ():
                self._reschedule(other)
            return order[0][1] if order else None

        def _assign_work_unit(self, node: Any) -> None:
            """A process may have ended and word of it not come: its work is noted nevertheless; `remove_node` gives it to the others."""
            with contextlib.suppress(OSError):
                super()._assign_work_unit(node)

        def _reschedule(self, node: Any) -> None:
            """A process begins a test when it knows the next one, or that none will come: with a single one it waits.

            xdist gives one unit and comes back when a test is done. Who joined late and got a unit of one test waited for ever.
            """
            super()._reschedule(node)
            while not node.shutting_down and self._pending_of(self.assigned_work[node]) < 2:
                super()._reschedule(node)  # one unit more, or word that none will come

    return ByFile(config, log)


def place(path: Path) -> int:
    return LONG_FIRST.index(path.stem) if path.stem in LONG_FIRST else len(LONG_FIRST)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    reports = [r for outcome in ("passed", "failed", "error") for r in terminalreporter.getreports(outcome)]
    for report in reports:
        for text in [value for name, value in report.user_properties if name == "says"]:
            terminalreporter.write_line(f"{report.nodeid.partition('::')[2]}: {text}")
    noted = [(r.nodeid, value.partition(" ")) for r in reports for name, value in r.user_properties if name == keeping.PROPERTY]
    for line in keeping.told({nodeid: why for nodeid, (_, _, why) in noted if why}):
        terminalreporter.write_line(line)
    passed = {report.nodeid for report in terminalreporter.getreports("passed")}
    if config.getoption("--keep"):
        part = config.getoption("keyword") or config.getoption("markexpr") or any("::" in each for each in config.args)
        keeping.keep({nodeid: digest for nodeid, (digest, _, _) in noted if nodeid in passed}, whole=not part)
    if told := config.getoption("--passed"):
        bad = {report.nodeid for outcome in ("failed", "error") for report in terminalreporter.getreports(outcome)}
        Path(told).write_text("".join(f"{keeping.place(nodeid)[1]}\n" for nodeid in sorted(passed - bad)), encoding="utf-8")
