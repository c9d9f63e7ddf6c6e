"""Single-change mutants of the reference and of correct versions. Mutants by kind come from `kinds`.

A mutant is identified by its function and its changed lines, as Python itself would write them, without comments and line numbers. So a
mutant stays the same when lines move or a comment changes.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import itertools
import textwrap
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from ...base.course_table import solution_source
from ...base.errors import CourseError
from ...base.parsing import parse, without_docstrings
from ...base.specimen_files import SPECIMENS, find_specimens
from ...lessons.marks import BEGIN, END
from ...sandbox.submission import Cell
from ..certify import read_specimen

REFERENCE = "reference"
KINDS = "kinds"
"""The origin of the reference's mutants by kind. Origin `all` leaves them out: it stands for single changes of correct versions, and its
published counts must mean the same as before."""


@dataclass(frozen=True)
class Identity:
    """The identity of a mutant.

    origin: `reference`, `right_NAME.py` or `kinds`. where: the function, such as `KVCache.append`. before, after: the lines that differ.
    A mutant by kind has nothing in `before`, and the kind's name in `after`.
    """

    origin: str
    where: str
    before: str
    after: str
    nth: int = 1
    """The number among several places of the function with the same change of the same lines."""


@dataclass(frozen=True)
class Mutant:
    topic: str
    exercise: str
    operator: str
    identity: Identity
    source: str
    """The whole file, changed."""

    @property
    def cells(self) -> list[Cell]:
        if self.identity.origin in (REFERENCE, KINDS):
            return [Cell(REFERENCE, self.source)]
        return [Cell(REFERENCE, solution_source(self.topic)), Cell(self.identity.origin, self.source)]


def mutants_of(topic: str, *, exercise: str | None = None, origin: str = REFERENCE, folder: Path = SPECIMENS) -> list[Mutant]:
    """Return the single-change mutants of a topic. origin: reference, right, all (of these two), or one specimen, as `right_NAME.py`."""
    found: list[Mutant] = []
    if origin in (REFERENCE, "all"):
        found += mutate(topic, solution_source(topic), only=exercise)
    if origin != REFERENCE:
        chosen = [each for each in find_specimens(folder, [topic]) if (each.right if origin in ("right", "all") else each.file == origin)]
        if not chosen and origin not in ("right", "all"):
            raise CourseError(f"no correct solution {origin!r} in {folder / topic}; origins: reference, right, all, kinds, `right_NAME.py`")
        for specimen in map(read_specimen, chosen):
            found += mutate(topic, specimen.source, origin=specimen.file, exercise=specimen.exercise)
    return [m for m in found if exercise in (None, m.exercise)]


def mutate(topic: str, source: str, *, origin: str = REFERENCE, exercise: str | None = None, only: str | None = None) -> list[Mutant]:
    """Return all mutants of a file, without duplicates, in the order of the file.

    only: mutate only this outermost function or class. exercise: the exercise whose checks judge all mutants.
    Without `exercise`, for the reference, each outermost function or class is an exercise. Then only lines between solution marks change,
    and the defaults of functions that have such marks.
    """
    twins: Counter[Identity] = Counter()
    seen: set[tuple[str, str]] = set()
    found = []
    for site in sites_of(source, between_marks=exercise is None, only=only):
        before, after = plain(site.before), plain(site.after)
        if before is None or after is None or after == before or (before, after) in seen:
            continue
        seen.add((before, after))
        identity = Identity(origin, site.where, *difference(before, after))
        twins[identity] += 1
        identity = replace(identity, nth=twins[identity])
        found.append(Mutant(topic, exercise or site.where.split(".")[0], site.operator, identity, site.source))
    return found


@functools.lru_cache(maxsize=8)
def plain(source: str) -> str | None:
    """Return the source as Python writes it: no comments, no docstrings, one statement a line. None if it does not compile."""
    try:
        tree = parse(source)
        with warnings.catch_warnings(action="ignore", category=SyntaxWarning):
            compile(tree, "mutant", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return None
    return ast.unparse(without_docstrings(tree))


def difference(before: str, after: str) -> tuple[str, str]:
    """Return (before, after): the lines from the first difference to the last, without their common indentation."""
    old, new = before.split("\n"), after.split("\n")
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    return tuple(textwrap.dedent("\n".join(lines[start : len(lines) - end])).strip("\n") for lines in (old, new))  # type: ignore[return-value]


@dataclass(frozen=True)
class Site:
    """One change: the operator, the function, its outermost definition before and after, and the whole changed source."""

    operator: str
    where: str
    before: str
    after: str
    source: str


def sites_of(source: str, *, between_marks: bool, only: str | None = None) -> Iterator[Site]:
    """Yield every single change, including changes that do not compile."""
    cst, operators = library()
    source = source.rstrip("\n") + "\n"
    wrapper = cst.metadata.MetadataWrapper(cst.parse_module(source))
    visitor = make_visitor(cst, operators, wrapper, set(marked_lines(source)) if between_marks else None)
    code_of = cst.Module([]).code_for_node
    positions = wrapper.resolve(cst.metadata.PositionProvider)
    line_starts = list(itertools.accumulate((len(line) for line in source.splitlines(keepends=True)), initial=0))
    place = 0

    def exchanged(definition, before: str, node, other) -> str:
        """Return the definition with one node replaced, by its place in the text if possible, because this is much faster."""
        if not isinstance(node, cst.BaseExpression):
            return code_of(definition.deep_replace(node, other))
        at = positions[node]
        start, end = (line_starts[point.line - 1] + point.column - place for point in (at.start, at.end))
        return before[:start] + code_of(other) + before[end:]

    for definition in wrapper.module.body:
        before = code_of(definition)
        place = source.index(before, place)
        if not isinstance(definition, cst.FunctionDef | cst.ClassDef) or only not in (None, definition.name.value):
            continue
        visitor.found.clear()
        definition.visit(visitor)
        for node, where, returns_tensor in list(visitor.found):
            for operator, other in operators.replacements(node, tensor=returns_tensor):
                with contextlib.suppress(cst.CSTValidationError):
                    after = exchanged(definition, before, node, other)
                    yield Site(operator, where, before, after, source[:place] + after + source[place + len(before) :])


def marked_lines(source: str) -> Iterator[int]:
    inside = False
    for number, line in enumerate(source.split("\n"), 1):
        inside = (inside or line.strip() == BEGIN) and line.strip() != END
        if inside:
            yield number


def library():
    """Return libcst and the course's operators. Raises CourseError with the remedy if libcst or mutmut is missing."""
    try:
        import libcst
        import libcst.metadata

        from . import operators
    except ModuleNotFoundError as missing:
        raise CourseError(f"mutants need the package {missing.name}: pip install -r requirements-dev.lock") from None
    return libcst, operators


def make_visitor(cst, operators, wrapper, marked: set[int] | None):
    """Return a visitor that collects (node, function, whether the node returns a tensor) at every place to change."""
    positions = wrapper.resolve(cst.metadata.PositionProvider)

    class Sites(cst.CSTVisitor):
        def __init__(self) -> None:
            super().__init__()
            self.found: list[tuple] = []
            self.names: list[str] = []
            self.tensor: list[bool] = []
            self.solved: list[bool] = []
            """A flag for each open definition, true if it has marks. Students are given the others, with their defaults."""

        def on_visit(self, node) -> bool:
            if isinstance(node, cst.FunctionDef | cst.ClassDef):
                self.names.append(node.name.value)
                annotation = node.returns if isinstance(node, cst.FunctionDef) else None
                self.tensor.append(annotation is not None and cst.Module([]).code_for_node(annotation.annotation) == "Tensor")
                extent = positions[node]
                self.solved.append(bool(marked and marked & {*range(extent.start.line, extent.end.line + 1)}))
                self.asked(node)
                return True
            if isinstance(node, cst.Annotation | cst.Decorator | cst.Import | cst.ImportFrom) or is_text(cst, node):
                return False
            if isinstance(node, cst.Param):
                self.asked(node, everywhere=self.solves())
                if node.default is not None:
                    self.asked(node.default, everywhere=self.solves())
                return False
            self.asked(node)
            whole = isinstance(node, cst.Arg) and (operators.is_last_dimension(node) or operators.is_guard(node))
            return not (whole or isinstance(node, cst.Raise))  # how a message is worded is free

        def on_leave(self, original_node) -> None:
            if isinstance(original_node, cst.FunctionDef | cst.ClassDef):
                self.names.pop()
                self.tensor.pop()
                self.solved.pop()

        def asked(self, node, *, everywhere: bool = False) -> None:
            position = positions.get(node)
            if position is None or not self.names:
                return
            if marked is None or everywhere or position.start.line in marked:
                self.found.append((node, ".".join(self.names), bool(self.tensor and self.tensor[-1])))

        def solves(self) -> bool:
            """Return whether the definition has solution marks. If so, its parameters, which come before the marks, are changed, too."""
            return bool(self.solved and self.solved[-1])

    return Sites()


def is_text(cst, node) -> bool:
    """Return whether a statement is a docstring or another bare string."""
    if not isinstance(node, cst.SimpleStatementLine) or len(node.body) != 1:
        return False
    (only,) = node.body
    return isinstance(only, cst.Expr) and isinstance(only.value, cst.SimpleString | cst.ConcatenatedString)


def exercises(mutants: Iterable[Mutant]) -> list[str]:
    return list(dict.fromkeys(m.exercise for m in mutants))
