"""The definitions of a saved notebook: its functions, classes and values, without the rest of its cells.

A notebook is full of experiments, calls of `check` and demonstrations. Only its top-level statements that bind a needed name run:
expressions never run, and a loop runs only if it binds such a name.
"""

from __future__ import annotations

import ast
import dis
import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from types import CodeType

from ..sandbox.submission import DEFINITION, Cell

EVERYTHING = "*"
"""The name that `from module import *` binds."""
EARLIER = re.compile(r"\bearlier\(\s*[\"'](\w+)[\"']\s*\)")


@dataclass(frozen=True)
class Statement:
    """A top-level statement. reads: global names in it or in its functions. binds: names that it defines or changes."""

    code: CodeType = field(repr=False)
    node: ast.stmt = field(repr=False)
    source: str
    given: bool
    """True for a statement of the course's setup cell."""
    reads: frozenset[str]
    binds: frozenset[str]

    @property
    def imports(self) -> bool:
        return isinstance(self.node, ast.Import | ast.ImportFrom)

    @property
    def is_stub(self) -> bool:
        """Return whether this is a function whose body is still `raise NotImplementedError(...)`."""
        if not isinstance(self.node, ast.FunctionDef | ast.AsyncFunctionDef):
            return False
        body = [each for each in self.node.body if not (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant))]
        return len(body) == 1 and isinstance(body[0], ast.Raise) and "NotImplementedError" in ast.unparse(body[0])


class Definitions:
    """The statements of a day's setup and of a notebook's cells, in order. broken: {name: why its cell cannot be read}."""

    def __init__(self, setup: str, cells: Iterable[Cell], names: Iterable[str]) -> None:
        """Read the cells. names: the exercises."""
        self.names = list(names)
        self.broken: dict[str, str] = {}
        self.statements: list[Statement] = []
        postponed = "from __future__ import annotations" in setup  # IPython keeps it for all later cells
        self._flags = annotations.compiler_flag if postponed else 0
        for cell in [Cell("setup", setup), *cells]:
            self._add(cell, given=cell.name == "setup")

    def _add(self, cell: Cell, *, given: bool) -> None:
        try:
            source, tree = _parsed(cell.source)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            line = getattr(error, "lineno", None)
            place = f" in line {line}" if line else ""
            self.broken |= dict.fromkeys(DEFINITION.findall(cell.source), f"{type(error).__name__}{place}")
            return
        lines = source.split("\n")
        for node in tree.body:
            try:
                code = compile(ast.Module([node], []), f"<cell {cell.name}>", "exec", self._flags, dont_inherit=True)
            except (SyntaxError, ValueError, RecursionError) as error:
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                    self.broken[node.name] = f"{type(error).__name__} in line {node.lineno}"
                continue
            first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", []))])
            text = "\n".join(lines[first - 1 : node.end_lineno])
            self.statements.append(Statement(code, node, text, given, frozenset(_read(code)), frozenset(_bound(code, node))))

    def defines(self, name: str) -> bool:
        """Return whether a cell of the notebook binds a name."""
        return any(name in each.binds for each in self.statements if not each.given)

    def is_stub(self, name: str) -> bool:
        """Return whether the last definition of a name is a stub."""
        last = [each for each in self.statements if name in each.binds]
        return bool(last) and last[-1].is_stub

    def needed(self, names: Iterable[str], apart_from: Iterable[str] = ()) -> list[Statement]:
        """Return, in order, the whole setup and the statements that these names need. apart_from: names that come from elsewhere."""
        places = self._reached(names, frozenset(apart_from))[0]
        return [each for place, each in enumerate(self.statements) if each.given or place in places]

    def uses(self, name: str) -> set[str]:
        """Return the other exercises that an exercise's code uses itself or through helpers. Uses through other exercises do not count."""
        return self._reached([name], frozenset(self.names) - {name})[1] & set(self.names) - {name}

    def source_of(self, name: str) -> list[str]:
        """Return the source of an exercise and of its helpers, without other exercises."""
        places = self._reached([name], frozenset(self.names) - {name})[0]
        return [each.source for place, each in enumerate(self.statements) if place in places]

    def _reached(self, names: Iterable[str], apart_from: frozenset[str]) -> tuple[set[int], set[str]]:
        """Return (places of statements, names read in them)."""
        waiting, places, seen = list(names), set(), set()
        for place, each in enumerate(self.statements):
            if EVERYTHING in each.binds:
                places.add(place)
        while waiting:
            name = waiting.pop()
            if name in seen:
                continue
            seen.add(name)
            if name in apart_from:
                continue
            for place, each in enumerate(self.statements):
                if name in each.binds and place not in places:
                    places.add(place)
                    waiting += each.reads
        return places, seen


def digest(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()[:24]


def topics(statements: Iterable[Statement]) -> list[str]:
    """Return the earlier days that statements take functions from."""
    return sorted({topic for each in statements for topic in EARLIER.findall(each.source)})


def names_in(code: CodeType) -> set[str]:
    """Return all names and string constants of code and of the functions in it."""
    found: set[str] = set()
    for each in _codes(code):
        found.update(each.co_names, each.co_freevars, (const for const in each.co_consts if isinstance(const, str)))
    return found


def _parsed(source: str) -> tuple[str, ast.Module]:
    """Return (source, its tree), with IPython's own syntax translated to Python. Raises SyntaxError."""
    if source.lstrip().startswith("%%"):
        source = source.lstrip().partition("\n")[2]
    try:
        return source, ast.parse(source)
    except SyntaxError:
        if not re.search(r"^\s*[%!?]|\?\s*$|= *[%!]", source, re.MULTILINE):
            raise
        from IPython.core.inputtransformer2 import TransformerManager

        changed = TransformerManager().transform_cell(source)
        return changed, ast.parse(changed)


def _codes(code: CodeType) -> Iterator[CodeType]:
    waiting = [code]
    while waiting:
        each = waiting.pop()
        yield each
        waiting += [const for const in each.co_consts if isinstance(const, CodeType)]


def _read(code: CodeType) -> Iterator[str]:
    for each in _codes(code):
        for step in dis.get_instructions(each):
            if step.opname in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_GLOBALS"):
                yield step.argval


def _bound(code: CodeType, node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.ImportFrom) and node.names[0].name == EVERYTHING:
        yield EVERYTHING
    for step in dis.get_instructions(code):
        if step.opname in ("STORE_NAME", "STORE_GLOBAL"):
            yield step.argval
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.AugAssign | ast.AnnAssign):
        targets = [node.target]
    for target in targets:  # f.calls = 0 and table["a"] = 1 change what a name stands for
        for part in target.elts if isinstance(target, ast.Tuple | ast.List) else [target]:
            root = part
            while isinstance(root, ast.Attribute | ast.Subscript | ast.Starred):
                root = root.value
            if isinstance(root, ast.Name):
                yield root.id
