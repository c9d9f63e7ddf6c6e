"""A lesson's demo cells, run as its notebook runs them: with the reference's functions, and with what cells before them have defined."""

from __future__ import annotations

import contextlib
import gc
import linecache
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import matplotlib
import matplotlib.pyplot
import pytest

from autograder.lessons import Day, lesson

DEFINED: dict[tuple[DemoCells, tuple[str, ...]], dict[str, Any]] = {}
"""What cells have defined, for the tests of one file: a real model in it takes half a gigabyte, so no later file finds it there."""


class DemoCells:
    """`said = cells("words of a cell", capsys)`: what that cell prints.

    names: makes what the cells find, once. around: what holds while a cell runs, given its names.
    """

    def __init__(
        self, day: Day, names: Callable[[], dict[str, Any]], around: Callable[[dict[str, Any]], AbstractContextManager[Any]] | None = None
    ) -> None:
        self.day, self.names, self.around = day, names, around or contextlib.nullcontext

    def __call__(
        self, words: str, capsys: pytest.CaptureFixture[str], *edits: tuple[str, str], before: tuple[str, ...] = (), cached: bool = False
    ) -> str:
        """edits: (old, new) in this cell; each old stands there once. before: words of the cells that run first, with nothing changed.

        cached: later cells that name this one in `before` find what it defines, so that it runs once. It has no edits then.
        """
        assert not (cached and edits)
        names = dict(self.defined_by(before))
        source = self.source(words)
        for old, new in edits:
            assert source.count(old) == 1, old
            source = source.replace(old, new)
        capsys.readouterr()
        self.run(source, names)
        if cached:
            DEFINED[self, (*before, words)] = names
        return capsys.readouterr().out

    def source(self, words: str) -> str:
        return next(cell.source for cell in lesson(self.day).cells if cell.role == "demo" and words in cell.source)

    def run(self, source: str, names: dict[str, Any]) -> None:
        matplotlib.use("agg")
        matplotlib.pyplot.close("all")
        source = "from __future__ import annotations\n" + source
        file = f"<cell {hash(source)}>"
        linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)  # a notebook knows the text of its cells, too
        with self.around(names):
            exec(compile(source, file, "exec"), names)
        gc.collect()  # the models of an earlier cell, in its servers and classes: Python would look for them much later

    def forget(self, words: str) -> None:
        """Free what this cell and those after it have defined: a real model, and an engine of its own."""
        for key in [(cells, before) for cells, before in DEFINED if cells is self and words in before]:
            del DEFINED[key]
        gc.collect()

    def defined_by(self, cells: tuple[str, ...]) -> dict[str, Any]:
        """What these cells have defined, one after the other: run once for all tests, since some take seconds."""
        if (self, cells) not in DEFINED:
            names = dict(self.defined_by(cells[:-1])) if cells else self.names()
            if cells:
                self.run(self.source(cells[-1]), names)
            DEFINED[self, cells] = names
        return DEFINED[self, cells]


def public(module: Any) -> dict[str, Any]:
    """What a reference's module holds, and that every exercise is solved."""
    return {**{name: value for name, value in vars(module).items() if not name.startswith("__")}, "if_solved": lambda *_: True}


def earlier(topic: str) -> Any:
    """`earlier(...)` of a notebook: the reference of that day."""
    return __import__(f"solutions.{topic}", fromlist=["x"])
