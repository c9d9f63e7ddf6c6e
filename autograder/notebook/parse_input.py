"""A parser for answers typed into a cell: it converts them to the form that the cell asks for, or refuses them in one line."""

from __future__ import annotations

import numbers
from typing import Any, TypeVar

from ..base.errors import CourseError

Form = TypeVar("Form")
ONE = {int: "a whole number", float: "a number", str: "a text"}
MANY = {int: "whole numbers", float: "numbers", str: "texts"}
SHOWN = 60


class NotOfTheForm(CourseError, TypeError):
    """The error of an answer in a form that the cell cannot judge."""


def typed(value: Any, *, like: Form) -> Form:
    """Return `value` in the form of an example.

    like: 3 means a whole number, 0.5 any number, "a" a text, [3] a list of whole numbers of any length, (3, 0.5) one whole number and one
    number. Lists may contain lists. Tensors, arrays, ranges and tuples count as lists; `True` does not count as a number. Raises
    NotOfTheForm, with the form, the example and the typed value.
    """
    try:
        formed: Form = _formed(value, like)
    except (TypeError, ValueError, OverflowError):
        try:
            shown = " ".join(repr(value).split())
        except Exception:  # whatever was typed may have a __repr__ of its own
            shown = f"an object of type {type(value).__name__}"
        shown = shown if len(shown) <= SHOWN else f"{shown[:SHOWN]}..."
        raise NotOfTheForm(f"Your value should be {described(like)}, such as {like!r}; it is {shown}.") from None
    return formed


def _formed(value: Any, like: Any) -> Any:
    if hasattr(value, "tolist"):  # a tensor, an array, a number of numpy's
        value = value.tolist()
    match like:
        case int():
            if isinstance(value, bool) or not isinstance(value, numbers.Integral):
                raise TypeError
            return int(value)
        case float():
            if isinstance(value, bool) or not isinstance(value, numbers.Real):
                raise TypeError
            return float(value)
        case str():
            if not isinstance(value, str):
                raise TypeError
            return value
    if not isinstance(value, list | tuple | range):
        raise TypeError
    if isinstance(like, tuple):
        return tuple(_formed(entry, example) for entry, example in zip(value, like, strict=True))
    return [_formed(entry, like[0]) for entry in value]


def described(like: Any, *, many: bool = False) -> str:
    """Return the form of an example, in words."""
    match like:
        case list():
            return f"{'lists' if many else 'a list'} of {described(like[0], many=True)}"
        case tuple():
            kinds = {type(entry) for entry in like}
            inside = f"{len(like)} {described(like[0], many=True)}" if len(kinds) == 1 else ", then ".join(described(e) for e in like)
            return f"groups of {inside}" if many else inside
    return (MANY if many else ONE)[type(like)]
