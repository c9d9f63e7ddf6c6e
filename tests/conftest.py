"""Order, selection and last lines of a run of the suite.

The suite runs in two processes; each takes one file after another, the long ones first, so that neither is idle at the end. `make test`
leaves out tests with the marks `slow` and `browser`, and its last lines say which; `make test-all` runs them. `make quick`
(`--one-process`) also skips a test as soon as it starts another process: a worker, a command, a kernel. That is where the time goes.
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from autograder.base import cache, gc_tuning

from .support import demo_cells

gc.disable()  # while all that tests import is imported: there are no cycles to find, and to look for them takes half of the time

LONG_FIRST = (
    "test_days", "test_written_tests", "test_asides", "test_bundle", "test_mutation", "test_site", "test_local_student",
    "test_class_server", "test_mistakes", "test_resume", "test_pytest_plugin", "test_bridge", "test_attacks",
    "test_browser", "test_cluster", "test_race", "test_grading", "test_gloo", "test_accessibility", "test_site_parts", "test_steppers",
    "test_quantized_engine", "test_instructor", "test_guides", "test_replicas", "test_engine", "test_ranks", "test_engine_benchmark",
    "test_serve_command", "test_chat_page", "test_demo",
)  # fmt: skip
"""Files with a test, or a shared set-up, of many seconds. Those that take most memory (notebooks, a class server, a browser, a cluster)
have others after them, which take little and which the other process does meanwhile. Files that are not named follow by name."""

STARTS = frozenset({"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.system"})
"""Python's audit events of a process that is about to start."""
at_test = False
"""Whether a test is run, or its set-up: what pytest itself starts is not stopped."""
last_file: Path | None = None
LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None
left_out: Counter[str] = Counter()
"""{file: number of its tests with one of these marks that this run leaves out}."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--one-process", action="store_true", help="skip a test where it starts a process")


def pytest_configure(config: pytest.Config) -> None:
    if "PYTEST_XDIST_WORKER" not in os.environ:  # the run and its processes share an empty cache: no earlier result is believed
        folder = tempfile.TemporaryDirectory(prefix="course-cache-")
        os.environ[cache.VARIABLE] = folder.name
        config.add_cleanup(folder.cleanup)
    if config.getoption("--one-process"):
        sys.addaudithook(skip_at_a_process)  # for good: there is no way to take one back


def collect_garbage() -> None:
    """Free what the fixtures of the last file held: it is in the oldest generation, which Python looks at last."""
    demo_cells.DEFINED.clear()
    gc.collect()
    if hasattr(LIBC, "malloc_trim"):  # glibc keeps what was freed; other systems have no such call
        LIBC.malloc_trim(0)
    gc.set_threshold(*gc_tuning.USUAL)  # importing a command may have made it seldom again


def skip_at_a_process(event: str, arguments: tuple[Any, ...]) -> None:
    if at_test and event in STARTS:
        pytest.skip("it starts a process: `make test` runs it")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    global at_test, last_file
    if item.path != last_file:
        collect_garbage()
        last_file = item.path
    at_test = True
    try:
        return (yield)
    finally:
        at_test = False


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put files into the order of LONG_FIRST."""
    if config.pluginmanager.hasplugin("xdist"):
        items.sort(key=lambda item: place(item.path))


def place(path: Path) -> int:
    return LONG_FIRST.index(path.stem) if path.stem in LONG_FIRST else len(LONG_FIRST)


def pytest_deselected(items: list[pytest.Item]) -> None:
    """Count what `-m` leaves out; what `-k` or `--last-failed` does was asked for."""
    if not items or not items[0].config.getoption("markexpr"):
        return
    left_out.update(item.path.stem for item in items if item.get_closest_marker("slow") or item.get_closest_marker("browser"))


def pytest_collection_finish() -> None:
    """Exempt what is there now from garbage collection, which stays to the end, and collect the rest as often as Python does by itself.

    What students import makes it seldom; the notebooks that tests run would then pile up to gigabytes.
    """
    gc_tuning.restore()
    gc.enable()


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left_out"] = dict(left_out)


@pytest.hookimpl(optionalhook=True)  # where there is no xdist there is no such hook
def pytest_testnodedown(node: Any) -> None:
    """Take over what a process left out: each has collected all tests, so the first one's numbers are everybody's."""
    if not left_out:
        left_out.update(getattr(node, "workeroutput", {}).get("left_out", {}))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if left_out:
        files = ", ".join(f"{file} ({number})" for file, number in sorted(left_out.items()))
        terminalreporter.write_line(f"left out, and run by `make test-all`: {left_out.total()} tests of {files}")
