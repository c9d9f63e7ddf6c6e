"""The parser of a lesson's source, `lesson.md`: its cells, its exercises with their points, its hints.

The course has its own parser instead of jupytext's for three reasons: an error can name the file and the line; folded parts are not split
(jupytext makes a cell of a code fence inside `<details>`, which tears the fold apart); and the grader, which needs only
points and the setup cell, does not wait for jupytext and nbformat to be imported. The files stay readable by jupytext
as Markdown notebooks.
"""

from __future__ import annotations

import functools
import math
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NoReturn

from autograder.base.errors import CourseError
from autograder.lessons import marks
from autograder.lessons.syllabus import Day, stamp

from ..base.parsing import parse

HEADER = "{{ header }}"

_FENCE = re.compile(r"(?P<indent> {0,3})(?P<mark>`{3,}|~{3,})(?P<info>[^`]*)")
_HINT = re.compile(r'<details class="hint" data-exercise="(\w+)">\s*<summary>(.+?)</summary>')


@dataclass(frozen=True)
class Exercise:
    """A function or class to be written, and its points. `line` is the line of its fence in the lesson."""

    name: str
    points: float
    line: int


@dataclass(frozen=True)
class Hint:
    """One step of an exercise's ladder, as Markdown."""

    exercise: str
    title: str
    text: str
    line: int


@dataclass(frozen=True)
class Cell:
    """One piece of the lesson. `source` is text or code, empty for an exercise; `line` is its first line."""

    role: Literal["text", "setup", "demo", "exercise"]
    source: str
    line: int
    exercise: Exercise | None = None


@dataclass(frozen=True)
class Lesson:
    """A day's lesson, checked against its solutions module."""

    day: Day
    cells: tuple[Cell, ...]
    hints: dict[str, tuple[Hint, ...]]

    @property
    def exercises(self) -> tuple[Exercise, ...]:
        return tuple(cell.exercise for cell in self.cells if cell.exercise)

    @property
    def setup(self) -> str:
        """Return the source of the setup cell, which is run from our copy before a submission is graded."""
        return next(cell.source for cell in self.cells if cell.role == "setup")

    @property
    def points(self) -> float:
        return sum(exercise.points for exercise in self.exercises)


def lesson(day: Day) -> Lesson:
    """Return the day's lesson. The call is cheap: it imports nothing, and reads a file again only after a change.

    Raises CourseError, with file and line, if the lesson or the marks in its solutions module are wrong.
    """
    try:
        return _lesson(day, stamp(day.lesson_path), stamp(day.solutions_path))
    except FileNotFoundError as error:
        missing = _relative(Path(error.filename), day.root)
        raise CourseError(f"day {day.number} ({day.topic}) is not available yet: {missing} is missing") from None


def page(path: Path, root: Path) -> tuple[Cell, ...]:
    """Return the cells of a Markdown notebook without exercises, such as `start_here.md`."""
    reader = _Reader(path, root)
    for cell in reader.cells:
        if cell.role == "exercise":
            reader.fail(cell.line, "an exercise belongs in a day's lesson.md")
    return tuple(reader.cells)


def fail_at(path: Path, root: Path, line: int, message: str) -> NoReturn:
    """Raise CourseError in the form `course/day05_samplers/lesson.md:12: message`."""
    raise CourseError(f"{_relative(path, root)}:{line}: {message}")


def _relative(path: Path, root: Path) -> Path:
    return path.relative_to(root) if path.is_relative_to(root) else path


@functools.lru_cache(maxsize=64)
def _lesson(day: Day, lesson_stamp: tuple[int, int], solutions_stamp: tuple[int, int]) -> Lesson:
    reader = _Reader(day.lesson_path, day.root)
    result = Lesson(day, tuple(reader.cells), reader.hints_by_exercise())
    _check_shape(result, reader)
    _check_exercises(result, reader)
    return result


def _check_shape(lesson: Lesson, reader: _Reader) -> None:
    code = [cell for cell in lesson.cells if cell.role != "text"]
    setups = [cell for cell in code if cell.role == "setup"]
    if not setups:
        reader.fail(1, "no ```python setup fence: a lesson has exactly one")
    if len(setups) > 1:
        reader.fail(setups[1].line, f"a second setup fence; the first is in line {setups[0].line}")
    if code[0].role != "setup":
        reader.fail(code[0].line, "the setup fence must be the first code cell")
    if not any(HEADER in cell.source.split("\n") for cell in lesson.cells if cell.role == "text"):
        reader.fail(1, f"no line {HEADER}: add that line under the title; the builder fills it in")


def _check_exercises(lesson: Lesson, reader: _Reader) -> None:
    module = lesson.day.solutions_path
    source = module.read_text(encoding="utf-8")
    try:
        defined = marks.definitions(source)
    except SyntaxError as error:
        fail_at(module, lesson.day.root, error.lineno or 1, f"not valid Python: {error.msg}")
    seen: dict[str, int] = {}
    for exercise in lesson.exercises:
        if exercise.name in seen:
            reader.fail(exercise.line, f"exercise {exercise.name!r} is already in line {seen[exercise.name]}")
        seen[exercise.name] = exercise.line
        node = defined.get(exercise.name)
        if node is None:
            names = ", ".join(name for name in defined if not name.startswith("_")) or "nothing"
            where = _relative(module, lesson.day.root)
            reader.fail(exercise.line, f"exercise {exercise.name!r} is not in {where}, which defines {names}")
        try:
            if not list(marks.regions(marks.source_of(source, node))):
                raise marks.MarkError(f"{exercise.name} has no {marks.BEGIN}", 1)
        except marks.MarkError as error:
            fail_at(module, lesson.day.root, marks.first_line(node) + error.line - 1, str(error))
    for name, ladder in lesson.hints.items():
        if name not in seen:
            reader.fail(ladder[0].line, f"a hint for {name!r}, which is not an exercise of this lesson")


class _Reader:
    """One pass over the lines. Text is collected until a code cell, a `---` or a `## ` heading ends it."""

    def __init__(self, path: Path, root: Path) -> None:
        self.path, self.root = path, root
        self.cells: list[Cell] = []
        self.hints: list[Hint] = []
        self._text: list[str] = []
        self._text_line = 1
        self._folds: list[int] = []  # lines of the <details> that are open
        self._hint: tuple[int, int, re.Match[str]] | None = None  # its line, where its text begins, its opening tag
        self._lines = path.read_text(encoding="utf-8").split("\n")
        number = 0
        while number < len(self._lines):
            number = self._step(number)
        if self._folds:
            self.fail(self._folds[-1], "this <details> is never closed")
        self._end_text(number)

    def fail(self, line: int, message: str) -> NoReturn:
        fail_at(self.path, self.root, line, message)

    def hints_by_exercise(self) -> dict[str, tuple[Hint, ...]]:
        ladders: dict[str, tuple[Hint, ...]] = {}
        for hint in self.hints:
            ladders[hint.exercise] = (*ladders.get(hint.exercise, ()), hint)
        return ladders

    def _step(self, number: int) -> int:
        """Handle the line at this index and return the index of the next one."""
        line = self._lines[number]
        fence = _FENCE.fullmatch(line)
        if fence:
            after = self._after_fence(number, fence)
            if self._folds or fence["indent"] or (fence["info"].split() or [""])[0] != "python":
                self._text += self._lines[number:after]
            else:
                self._end_text(after)
                self._code_cell(number, after)
            return after
        if not self._folds and (line.rstrip() == "---" or line.startswith("## ")):
            is_break = line.rstrip() == "---"
            self._end_text(number + is_break)
            if is_break:
                return number + 1
        self._text.append(line)
        self._follow_folds(number)
        return number + 1

    def _after_fence(self, number: int, fence: re.Match[str]) -> int:
        mark = fence["mark"]
        opening = mark + fence["info"].rstrip()
        after = number + 1
        while after < len(self._lines):
            line = self._lines[after].strip()
            after += 1
            if len(line) >= len(mark) and set(line) == {mark[0]}:
                return after
            # Markdown would go on to the next closing fence, and swallow a cell without a word.
            if line.startswith(mark):
                self.fail(
                    number + 1, f"this {opening} fence is still open in line {after}, where {line} begins another"
                )
        return self.fail(number + 1, f"this {opening} fence is never closed")

    def _follow_folds(self, number: int) -> None:
        line = re.sub(r"`[^`]*`", "", self._lines[number])  # a tag in backticks does not count
        if '<details class="hint"' in line:
            tag = _HINT.fullmatch(line.rstrip())
            if not tag:
                form = '<details class="hint" data-exercise="NAME"><summary>Hint 1: a nudge</summary>'
                self.fail(number + 1, f"a hint opens with a line of the form {form}")
            if self._folds:
                self.fail(number + 1, "a hint inside another folded part")
            self._hint = (number + 1, number + 1, tag)
        for closing in re.findall(r"<(/?)details\b", line):
            if not closing:
                self._folds.append(number + 1)
            elif not self._folds:
                self.fail(number + 1, "</details> without its <details>")
            else:
                self._folds.pop()
        if self._hint and not self._folds:
            line_number, begin, tag = self._hint
            text = "\n".join(self._lines[begin:number]).strip()
            if not text:
                self.fail(line_number, "an empty hint")
            self.hints.append(Hint(tag[1], tag[2], text, line_number))
            self._hint = None

    def _end_text(self, next_index: int) -> None:
        text = "\n".join(self._text)
        if text.strip():
            blank = len(text[: len(text) - len(text.lstrip())].split("\n")) - 1
            self.cells.append(Cell("text", text.strip("\n").rstrip(), self._text_line + blank))
        self._text = []
        self._text_line = next_index + 1

    def _code_cell(self, number: int, after: int) -> None:
        line = number + 1
        source = "\n".join(self._lines[number + 1 : after - 1]).strip("\n").rstrip()
        info = self._lines[number].strip("`~ ").removeprefix("python").strip()
        words = self._words(info, line)
        if not words:
            self._check_python(source, line, magics=True)
            self.cells.append(Cell("demo", source, line))
        elif words == {"setup": None}:
            self._check_python(source, line, magics=False)
            self.cells.append(Cell("setup", source, line))
        elif set(words) == {"exercise", "points"}:
            if source:
                self.fail(line + 1, "an exercise fence is empty: the builder fills it from the solutions module")
            exercise = Exercise(words["exercise"] or "", self._points(words["points"], line), line)
            self.cells.append(Cell("exercise", "", line, exercise))
        else:
            self.fail(line, f'```python {info}: write `setup`, `exercise="NAME" points=N`, or nothing')

    def _words(self, info: str, line: int) -> dict[str, str | None]:
        try:
            pairs = [word.partition("=") for word in shlex.split(info)]
        except ValueError as error:
            self.fail(line, f"```python {info}: {str(error).lower()}")
        return {key: value if equals else None for key, equals, value in pairs}

    def _points(self, text: str | None, line: int) -> float:
        try:
            points = float(text or "")
        except ValueError:
            points = math.nan
        if not (points > 0 and math.isfinite(points)):
            self.fail(line, f"points must be a number above 0, got {text!r}")
        return int(points) if points.is_integer() else points

    def _check_python(self, source: str, line: int, *, magics: bool) -> None:
        if magics and re.search(r"(?m)^\s*[%!]", source):
            return  # IPython's own commands are not Python
        try:
            parse(source)
        except SyntaxError as error:
            self.fail(line + (error.lineno or 1), f"not valid Python: {error.msg}")
