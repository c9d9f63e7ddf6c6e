"""Numbers in messages: nouns and verbs that agree with them."""

from __future__ import annotations


def counted(number: int, thing: str, things: str | None = None) -> str:
    """Return a number with its noun, as in `1 file` and `1,200 files`. things: the plural, if it takes more than an s."""
    return f"{number:,} {thing if number == 1 else things or f'{thing}s'}"


def agreeing(number: int, one: str, many: str) -> str:
    """Return the verb that agrees with a number, as in `1 is` and `0 are`."""
    return one if number == 1 else many
