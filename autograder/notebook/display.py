"""The output that a student sees: HTML where the front end can, text elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from . import render


class Table:
    """An object to display: HTML where the front end can, text elsewhere."""

    def __init__(self, html: str, text: str) -> None:
        self._html, self._text = html, text

    def _repr_html_(self) -> str:
        return self._html

    def __repr__(self) -> str:
        return self._text


class OutputArea:
    """A place in the output: new content replaces the old."""

    def __init__(self) -> None:
        self.handle: Any = None

    def __enter__(self) -> OutputArea:
        return self

    def __exit__(self, *error: object) -> None:
        """Clear the last sentence if an exception ends the block."""
        if error[0] is not None and self.handle is not None:
            self.handle.update(Table("", ""))

    def put(self, *tables: Table) -> None:
        shown = Table("".join(t._repr_html_() for t in tables), "\n".join(repr(t) for t in tables if repr(t)))
        if not in_notebook():
            print(shown)
        elif self.handle is not None:
            self.handle.update(shown)
        else:
            self.handle = _display(shown)

    def say(self, sentence: str) -> None:
        """Show a sentence until something replaces it; a terminal shows nothing."""
        if in_notebook():
            self.put(sentences([sentence]))


def shell() -> Any:
    if "IPython" not in sys.modules:
        return None
    from IPython.core.getipython import get_ipython

    return get_ipython()


def in_notebook() -> bool:
    return shell() is not None


def _display(table: Table) -> Any:
    from IPython.display import display

    return display(table, display_id=True)


def show(table: Table) -> None:
    OutputArea().put(table)


def show_line(text: str) -> None:
    """Show a sentence as HTML, because a notebook breaks printed lines in the middle of words."""
    show(sentences([text]))


def sentences(texts: Iterable[str]) -> Table:
    texts = [text for text in texts if text]
    return Table("".join(f"<p>{render.with_code(text)}</p>" for text in texts), "\n".join(texts))


def show_markdown(text: str) -> None:
    if in_notebook():
        from IPython.display import Markdown, display

        display(Markdown(text))
    else:
        print(text)
