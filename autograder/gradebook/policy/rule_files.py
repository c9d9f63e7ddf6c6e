"""A rule of a class in a text file of its own, such as late.txt."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from ...base.errors import CourseError
from ...lessons.notebooks import write_if_changed

Rule = TypeVar("Rule")


def read_rule(path: Path, parse: Callable[[str], Rule]) -> Rule | None:
    """Return the rule in a file; None if there is no file. Raises CourseError with the file's name."""
    if not path.exists():
        return None
    try:
        return parse(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError, CourseError) as error:
        raise CourseError(f"{path}: {error}") from None


def write_rule(path: Path, text: str | None) -> None:
    """Write a rule's text; remove the file if there is none."""
    if text is None:
        path.unlink(missing_ok=True)
    else:
        write_if_changed(path, f"{text}\n".encode())
