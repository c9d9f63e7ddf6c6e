"""Solution marks: a function's source from a solutions module, without the answer or without the marks."""

from __future__ import annotations

import ast
import symtable
from collections.abc import Iterator

from ..base.parsing import parse

BEGIN = "### BEGIN SOLUTION"
END = "### END SOLUTION"

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class MarkError(ValueError):
    """An error of marks that do not pair or are missing. `line` counts from 1 in the given source."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


def definitions(source: str) -> dict[str, Definition]:
    """Return the functions and classes at the outermost level of a module. Raises SyntaxError."""
    return {node.name: node for node in parse(source).body if isinstance(node, Definition)}


def first_line(node: Definition) -> int:
    """Return the line where a definition begins, its decorators included."""
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def source_of(module_source: str, node: Definition) -> str:
    """Return a definition's lines with decorators, docstring and marks, but without the blank lines around it."""
    lines = module_source.split("\n")
    end = node.end_lineno or node.lineno
    # Python ends a definition with its last statement; the comment after it is still ours.
    while end < len(lines) and (not lines[end].strip() or lines[end].startswith((" ", "\t"))):
        end += 1
    return "\n".join(lines[first_line(node) - 1 : end]).strip("\n").rstrip()


def regions(source: str) -> Iterator[tuple[int, int]]:
    """Yield (line of BEGIN, line of END) of each answer, counted from 1. Raises MarkError if the marks do not pair."""
    begin = 0
    for number, line in enumerate(source.split("\n"), start=1):
        if line.strip() == BEGIN:
            if begin:
                raise MarkError(f"second {BEGIN} without an {END} between them", number)
            begin = number
        elif line.strip() == END:
            if not begin:
                raise MarkError(f"{END} without its {BEGIN}", number)
            yield begin, number
            begin = 0
    if begin:
        raise MarkError(f"{BEGIN} without its {END}", begin)


def without_answers(source: str) -> str:
    """Return the source with each answer replaced by `raise NotImplementedError("softmax")`, in methods `("KVCache.append")`."""
    lines = source.split("\n")
    pieces: list[str] = []
    done = 0
    for begin, end in regions(source):
        mark = lines[begin - 1]
        indent = mark[: len(mark) - len(mark.lstrip())]
        pieces += [*lines[done : begin - 1], f'{indent}raise NotImplementedError("{_owner(source, begin)}")']
        done = end
    return "\n".join(pieces + lines[done:])


def without_marks(source: str) -> str:
    """Return the source with its answers and without the lines that mark them."""
    return "\n".join(line for line in source.split("\n") if line.strip() not in (BEGIN, END))


def free_names(source: str) -> set[str]:
    """Return the names that the source uses but does not define. A notebook must define these names first."""

    def looked_up(table: symtable.SymbolTable) -> Iterator[str]:
        for symbol in table.get_symbols():
            if symbol.is_referenced() and (table.get_type() == "module" or symbol.is_global()):
                yield symbol.get_name()
        for child in table.get_children():
            yield from looked_up(child)

    return set(looked_up(symtable.symtable(source, "<lesson>", "exec"))) - bound_names(source)


def bound_names(source: str) -> set[str]:
    """Return the names that the source defines at its outermost level: imports, assignments, functions, classes."""
    table = symtable.symtable(source, "<lesson>", "exec")
    return {symbol.get_name() for symbol in table.get_symbols() if symbol.is_assigned() or symbol.is_imported()}


def _owner(source: str, line: int) -> str:
    """Return the exercise that a mark belongs to: the outermost function around the mark, prefixed with its classes."""
    mark = source.split("\n")[line - 1]
    indent = len(mark) - len(mark.lstrip())
    names: list[str] = []
    body: list[ast.stmt] = parse(source).body
    while True:
        # A body may end with a mark, which Python does not count to it: so, the last definition that begins above
        # the mark and less far to the right.
        nodes = [node for node in body if isinstance(node, Definition)]
        above = [node for node in nodes if node.lineno < line and node.col_offset < indent]
        if not above:
            return ".".join(names)
        names.append(above[-1].name)
        if not isinstance(above[-1], ast.ClassDef):
            return ".".join(names)
        body = above[-1].body
