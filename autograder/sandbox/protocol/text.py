"""The cleaning of text: after it, every string from the wire, a notebook or a record can be written as UTF-8.

Python and JSON can hold half of a surrogate pair ("\\udcff"), which cannot be encoded: one such string would break every page, table and
export that it reaches. Values are compared after the cleaning, too: an escaped half pair equals no right answer.
"""

from __future__ import annotations

from typing import Any


def encodable(text: str) -> str:
    """Return the text with each half of a surrogate pair written out, as `\\udcff`."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")


def all_encodable(value: Any) -> Any:
    """Return a JSON value, or a dataclass's table, with every string in it encodable. Lists and dicts are copied."""
    if isinstance(value, str):
        return encodable(value)
    if isinstance(value, list):
        return [all_encodable(each) for each in value]
    if isinstance(value, dict):
        return {all_encodable(key): all_encodable(each) for key, each in value.items()}
    return value


def cell_title(name: str) -> str:
    """Return a cell's name in a message: `cell softmax`, or `cell 2` for a cell that defines nothing."""
    return name if name.startswith("cell ") else f"cell {name}"


def json_may_hold_a_half_pair(raw: bytes) -> bool:
    """Return whether JSON may contain half of a surrogate pair. Only an escape can be one."""
    return b"\\ud" in raw or b"\\uD" in raw
