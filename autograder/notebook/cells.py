"""The state of a notebook's cells: exercises whose cell failed in its last run, so that an older function is still defined."""

from __future__ import annotations

import re
import time
import traceback
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ..base.errors import CourseError
from ..lessons import Day, lesson, syllabus
from ..lessons.first_cell import comparable

DEFINED = re.compile(r"^(?:async +)?(?:def|class) +(\w+)", re.MULTILINE)
EXERCISE_CELL = "exercise-"
"""The beginning of the id of an exercise's cell in a released notebook."""


@dataclass(frozen=True)
class Run:
    """The last run of a cell that defines functions or classes: the names, the cell's text, and the time when the run began."""

    names: tuple[str, ...]
    source: str
    began: float


class Cells:
    """A listener to a kernel's cell runs. `trouble`: a sentence for each exercise whose cell's last run did not define its function."""

    def __init__(self, namespace: Callable[[], dict[str, Any]]) -> None:
        self.namespace = namespace
        self.trouble: dict[str, str] = {}
        self.homes: dict[str, str] = {}
        """The exercises by cell id: {cell id: the exercise that it defined when it last ran well}."""
        self.before: dict[str, Any] = {}
        self.runs: dict[str, Run] = {}
        """The last run of each defining cell: by the cell's id, or by the names if the front end gives no id."""
        self.running = ""

    def starts(self, info: Any) -> None:
        """Handle IPython's pre_run_cell."""
        self.running = getattr(info, "cell_id", None) or ""
        if names := tuple(DEFINED.findall(info.raw_cell)):
            self.runs[self.running or " ".join(names)] = Run(names, comparable(info.raw_cell), time.time())
        self.before = {name: self.namespace().get(name) for name in self._concerned(info)}

    def ended(self, result: Any) -> None:
        """Handle IPython's post_run_cell."""
        error = result.error_before_exec or result.error_in_exec
        defined = DEFINED.findall(result.info.raw_cell)
        for name in self._concerned(result.info):
            now = self.namespace().get(name)
            if now is not None and now is not self.before.get(name):
                self.trouble.pop(name, None)
                if cell_id := getattr(result.info, "cell_id", None):
                    self.homes[cell_id] = name
            elif error is not None:
                self.trouble[name] = f"The cell of `{name}` failed when you last ran it: {_in_words(error)}."
            elif name not in defined:
                instead = " It defines " + ", ".join(f"`{other}`" for other in defined) + "." if defined else ""
                self.trouble[name] = f"The cell of `{name}` no longer defines it.{instead} The name must stay as in the stub."

    def _concerned(self, info: Any) -> list[str]:
        """Return the exercises that a cell defines or was handed out for."""
        cell_id = getattr(info, "cell_id", None) or ""
        names = [*DEFINED.findall(info.raw_cell), cell_id.removeprefix(EXERCISE_CELL), self.homes.get(cell_id, "")]
        known = exercise_names() if any(names) else set()
        return [name for name in dict.fromkeys(names) if name in known]


def exercise_names() -> set[str]:
    with suppress(CourseError):
        return {exercise.name for day in syllabus() if day.ready for exercise in lesson(day).exercises}
    return set()


def day_of_cells(sources: Iterable[object]) -> Day | None:
    """Return the day whose first code cell is the last such cell in `sources`, else the day with the most exercises defined there.

    Return None if `sources` has neither.
    """
    texts = [comparable(source) for source in sources if isinstance(source, str)]
    defined = {name for text in texts for name in DEFINED.findall(text)}
    setups: dict[str, Day] = {}
    counts: dict[Day, int] = {}
    with suppress(CourseError):
        for day in syllabus():
            if day.ready:
                setups[comparable(lesson(day).setup)] = day
                counts[day] = sum(exercise.name in defined for exercise in lesson(day).exercises)
    if found := next((setups[text] for text in reversed(texts) if text in setups), None):
        return found
    most = max(counts, key=lambda day: counts[day], default=None)
    return most if most is not None and counts[most] else None


def _in_words(error: BaseException) -> str:
    if isinstance(error, SyntaxError):
        line = error.lineno
    else:
        lines = [number for frame, number in traceback.walk_tb(error.__traceback__) if frame.f_code.co_name == "<module>"]
        line = lines[0] if lines else None
    return type(error).__name__ + (f" in line {line}" if line else "")


_listening: Cells | None = None


def listen(shell: Any) -> None:
    """Listen to a kernel; further calls do nothing."""
    global _listening
    if _listening is None and shell is not None and hasattr(shell, "kernel"):
        _listening = Cells(lambda: shell.user_ns)
        with suppress(AttributeError, KeyError, TypeError):  # the cell that runs had begun before
            _listening.running = str(shell.kernel.get_parent()["metadata"]["cellId"])
        shell.events.register("pre_run_cell", _listening.starts)
        shell.events.register("post_run_cell", _listening.ended)


def runs() -> list[Run]:
    """Return the last run of each cell that defines functions or classes; [] outside a kernel."""
    return list(_listening.runs.values()) if _listening is not None else []


def trouble(exercise: str) -> str:
    """Explain why a cell's function is missing or comes from an earlier run. Return "" if the last run succeeded."""
    return _listening.trouble.get(exercise, "") if _listening is not None else ""


def running() -> str:
    """Return the id of the cell that runs; "" if it has none, or outside a kernel."""
    return _listening.running if _listening is not None else ""
