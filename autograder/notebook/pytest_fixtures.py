"""Fixtures for a person's own test files: `student`, `reference`, `hand`, `rng`, `race`. Part of `pytest_plugin.py`.

    def test_rows_sum_to_one(student, rng):            # work/day01_softmax/test_mine.py
        probs = student.softmax(torch.randn(3, 5, generator=rng))
        close(probs.sum(-1), torch.ones(3))
"""

from __future__ import annotations

import hashlib
from collections.abc import Generator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import pytest

from .pytest_plugin import ALONE, CHECKING, notebook_for, num_processes, sessions

if TYPE_CHECKING:
    from ..lessons import Day


@pytest.fixture
def student(request: pytest.FixtureRequest) -> Any:
    """Return the functions of the notebook beside this file or of the marked day: `student.softmax(x)`. Calls run in a worker."""
    from ..base.errors import CourseError

    day = _day(request)
    try:
        session = sessions(request.config).session(day, notebook_for(request.config, day, request.path.parent))
    except CourseError as error:
        raise pytest.fail.Exception(str(error), pytrace=False) from None
    session.student.begin_check()
    return session.student


@pytest.fixture
def reference(request: pytest.FixtureRequest) -> Any:
    """Return the module of the course's reference solutions."""
    from ..checking import runner

    return runner.reference(_day(request).topic)


@pytest.fixture
def hand(request: pytest.FixtureRequest) -> Any:
    """Return the day's numbers that were worked out by hand, from datasets/hand_computed.toml."""
    from ..base.datafiles import hand_computed

    return hand_computed(_day(request).topic)


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> Any:
    """Return a torch.Generator that draws the same in every run of this test."""
    import torch

    return torch.Generator().manual_seed(int.from_bytes(hashlib.sha256(request.node.nodeid.encode()).digest()[:7]))


@pytest.fixture
def race(request: pytest.FixtureRequest, student: Any) -> Any:
    """Return the course's `Race`, see `autograder/sandbox/measure/timing.py`. A test with an inconclusive race is skipped."""
    if num_processes(request.config) > 1:
        pytest.skip(ALONE)
    from ..sandbox.measure.timing import Race

    return Race(_day(request).topic, student, seed=request.node.nodeid)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Remove our own lines from the traceback of a test that uses `student`; its lines and the student's remain."""
    try:
        return (yield)
    except Exception as error:
        if type(pyfuncitem.funcargs.get("student")).__module__ != "autograder.sandbox.process.remote_student":
            raise
        if type(error).__name__ == "Inconclusive":
            pytest.skip(f"inconclusive: {error}")
        for line in getattr(error, "lines", ()):
            error.add_note(f"in {line}")
        raise error.with_traceback(without_ours(error.__traceback__)) from None


def without_ours(trace: TracebackType | None) -> TracebackType | None:
    """Return a traceback without the frames of this package."""
    if trace is None:
        return None
    rest = without_ours(trace.tb_next)
    ours = Path(trace.tb_frame.f_code.co_filename).is_relative_to(CHECKING)
    return rest if ours else TracebackType(rest, trace.tb_frame, trace.tb_lasti, trace.tb_lineno)


def _day(request: pytest.FixtureRequest) -> Day:
    from ..base.errors import CourseError
    from ..lessons import find_day

    marker = request.node.get_closest_marker("day")
    try:
        return find_day(marker.args[0] if marker else request.path.parent.name)
    except CourseError as error:
        advice = 'put the file beside a notebook, or mark the test: @pytest.mark.day("samplers")'
        raise pytest.fail.Exception(f"{error}; {advice}", pytrace=False) from None
