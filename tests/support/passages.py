"""Passages of a lesson that say numbers, held against numbers that a test has computed."""

import re
from collections.abc import Iterable, Mapping


def assert_said(lesson: str, passages: Iterable[str] | Mapping[str, bool | tuple[bool, ...]]) -> None:
    """Assert that every passage occurs once in the lesson, with whole numbers at its ends, and that it is true.

    A passage has enough words or cells around its numbers to occur once: then no number can be wrong there and right elsewhere.
    Line breaks count as spaces. A mapping says of each passage whether its numbers are those that were computed.
    """
    text = " ".join(lesson.split())
    for passage in passages:
        words = " ".join(passage.split())
        begins, ends = r"(?<![\d.,])" if words[0].isdigit() else "", r"(?![.,]?\d)" if words[-1].isdigit() else ""
        times = len(re.findall(begins + re.escape(words) + ends, text))
        assert times == 1, f"{words!r} occurs {times} times in the lesson: correct its numbers, or quote enough to occur once"
        right = passages[passage] if isinstance(passages, Mapping) else True
        assert all(right if isinstance(right, tuple) else (right,)), f"{words!r} is wrong"


def listed(numbers: Iterable[float], places: int = 4, minus: str = "-") -> str:
    """Return the numbers as a lesson lists them: `0.2840, 0.1400, 0.5760`."""
    return ", ".join(f"{x:.{places}f}" for x in numbers).replace("-", minus)


def row(label: object, cells: Iterable[object]) -> str:
    """Return a row of a table: floats have four decimals."""
    return " | ".join(["", str(label), *(f"{cell:.4f}" if isinstance(cell, float) else str(cell) for cell in cells), ""]).strip()
