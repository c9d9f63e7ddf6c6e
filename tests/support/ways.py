"""Student's functions in every way that there is: in this process, and in workers at each isolation level of this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from autograder.base.errors import InfrastructureFault
from autograder.sandbox.confine.confine import LEVELS
from autograder.sandbox.confine.limits import Limits
from autograder.sandbox.process import forkserver_pool
from autograder.sandbox.process.local import LocalStudent
from autograder.sandbox.process.remote_student import Cell, RemoteStudent
from tests.sandbox.test_local_student import cell
from tests.support.submissions import QUICK

Start = Callable[..., RemoteStudent]
WAYS = ("local", *LEVELS)


@pytest.fixture(scope="module", params=WAYS)
def way(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param != "local":
        forkserver_pool.want(request.param)
        try:
            forkserver_pool.forkserver(QUICK.limits)
        except InfrastructureFault as fault:
            forkserver_pool.want("auto")
            pytest.skip(f"this machine does not reach level {request.param}: {fault}")
    yield request.param
    forkserver_pool.want("auto")


@pytest.fixture
def student_of(way: str) -> Iterator[Start]:
    """student_of(source) -> the functions that it defines."""
    started: list[RemoteStudent] = []

    def start(source: str, limits: Limits = QUICK.limits) -> RemoteStudent:
        if way == "local":
            namespace: dict[str, Any] = {"__name__": "__main__"}
            cell("probe", source, namespace)
            return LocalStudent(namespace, limits=limits)
        started.append(RemoteStudent("softmax", [Cell("probe", source)], {}, limits=limits))
        started[-1].start()
        assert started[-1].cell_outcomes == {}
        return started[-1]

    yield start
    for each in started:
        each.close()
