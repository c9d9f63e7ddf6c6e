"""Exercises for which a test can be written, and the versions that it runs on.

`tasks/<exercise>.toml` sorts the incorrect versions of an exercise. A version that counts is listed under the docstring's rule that
it breaks; if a test accepts the version, the report names only that rule. Versions that do not count are listed under `left_out`;
`counting.py` computes which these are.
"""

from __future__ import annotations

import functools
import tomllib
from dataclasses import dataclass
from pathlib import Path

from ...base.course_table import solution_source
from ...base.errors import CourseError
from ...base.specimen_files import SPECIMENS, find_specimens
from ...lessons import find_day, lesson
from ..certify import Specimen, read_specimen

FOLDER = Path(__file__).parent / "tasks"
REFERENCE = "right_reference.py"


@dataclass(frozen=True)
class Version:
    """A version of an exercise.

    file: its name in tests and tables, never shown to students. source: None for the reference solution.
    """

    file: str
    right: bool
    source: str | None
    rule: str = ""


@dataclass(frozen=True)
class Task:
    topic: str
    exercise: str
    rules: dict[str, list[str]]
    """{rule of the docstring: the incorrect versions that break it}."""
    left_out: list[str]

    @functools.cached_property
    def versions(self) -> list[Version]:
        """Return the versions to test: the reference solution, other correct versions, and the incorrect versions that count."""
        found = [Version(REFERENCE, True, None)]
        rule_of = {name: rule for rule, names in self.rules.items() for name in names}
        for each in self.specimens:
            if each.right:
                found.append(Version(each.file, True, each.source))
            elif (name := name_of(each)) in rule_of:
                found.append(Version(each.file, False, each.source, rule_of[name]))
        return found

    @functools.cached_property
    def specimens(self) -> list[Specimen]:
        """Return all versions of the exercise."""
        every = (read_specimen(listed) for listed in find_specimens(SPECIMENS, [self.topic]))
        return [each for each in every if each.exercise == self.exercise]

    @functools.cached_property
    def reference(self) -> str:
        return solution_source(self.topic)

    @functools.cached_property
    def setup(self) -> str:
        """Return the lesson's setup cell, whose names a test may use."""
        return next(cell.source for cell in lesson(find_day(self.topic)).cells if cell.role == "setup")


def name_of(specimen: Specimen) -> str:
    return specimen.file.removesuffix(".py").removeprefix("wrong_")


def names() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


@functools.cache
def task(exercise: str) -> Task:
    """Return an exercise's task. Raises CourseError for an exercise without one."""
    if exercise not in names():
        raise CourseError(f"no test is asked for {exercise!r}; tests can be written for {', '.join(names())}")
    table = tomllib.loads((FOLDER / f"{exercise}.toml").read_text(encoding="utf-8"))
    return Task(table["topic"], exercise, {each["rule"]: each["versions"] for each in table["broken"]}, table["left_out"])
