"""The run of an exercise's checks for a waiting student, with copies and limits as in grading, and a stop button."""

from __future__ import annotations

import builtins
import contextlib
import getpass
import io
import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch

from course.kit.threads import one_thread

from ..base.verdicts import Verdict
from ..checking.runner import run_checks, select
from ..sandbox.process.local import LocalStudent, State

CAPTURED_CHARS = 100_000


def run_for_a_person(
    topic: str, namespace: dict[str, Any], *, exercise: str | None = None, on_check: Callable[[], None] | None = None
) -> tuple[list[Verdict], str]:
    """Return verdicts of the visible checks and the output of the student's code. on_check: called as each check begins."""
    printed, screen = _Captured(), sys.stdout
    student = LocalStudent(namespace, tell=lambda text: print(text, file=screen, flush=True), on_check=on_check)
    selected = select(topic, exercise=exercise, hidden=False)
    with as_in_grading(printed):
        verdicts = run_checks(topic, selected, student)
    return verdicts, printed.getvalue()


@contextlib.contextmanager
def as_in_grading(printed: io.StringIO | None = None) -> Iterator[None]:
    """Run student code inside this context as in grading: torch's state is that of a new process with one thread, `input()` fails.

    printed: the buffer for the code's output; without a buffer the output is discarded.
    """
    with contextlib.redirect_stdout(printed or _Captured()), _nobody_answers(), _as_a_new_process(), one_thread():
        yield


class _Captured(io.StringIO):
    """A text buffer that stores only the beginning, since an endless loop may print."""

    def write(self, text: str) -> int:
        if self.tell() < CAPTURED_CHARS:
            super().write(text[:CAPTURED_CHARS])
        return len(text)


@contextlib.contextmanager
def _nobody_answers() -> Iterator[None]:
    """Make `input()` fail, as in grading, where nobody could answer."""

    def refuse(prompt: object = "", *args: Any, **kwargs: Any) -> str:
        raise EOFError("EOF when reading a line")

    saved = builtins.input, getpass.getpass, sys.stdin
    builtins.input, getpass.getpass, sys.stdin = refuse, refuse, io.StringIO()
    try:
        yield
    finally:
        builtins.input, getpass.getpass, sys.stdin = saved


@contextlib.contextmanager
def _as_a_new_process() -> Iterator[None]:
    """Set torch's global state as in a new process for the checks, and restore the notebook's state afterwards."""
    saved = State.now()
    State(True, torch.float32, saved.rng).set()
    try:
        yield
    finally:
        saved.set()
