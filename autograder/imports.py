"""Which of the course's own files a module comes to import, read from their sources: nothing is run."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path


def imported_files(root: Path, names: Iterable[str], leave_out: Callable[[str], bool] = lambda name: False) -> set[Path]:
    """The files of `autograder` that these modules are and may come to import, wherever the import stands; paths from root.

    leave_out: is asked of each name; what it leaves out is not followed.
    """
    found: set[Path] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        path = None if leave_out(name) else _module_file(root, name)
        if path is None or path in found:
            continue
        found.add(path)
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        waiting += names_imported((root / path).read_text(encoding="utf-8"), package)
        while package:  # importing a module imports the packages around it
            waiting.append(package)
            package = package.rpartition(".")[0]
    return found


def _module_file(root: Path, name: str) -> Path | None:
    base = Path(*name.split("."))
    for path in (base / "__init__.py", base.with_suffix(".py")):
        if name.split(".")[0] == "autograder" and (root / path).is_file():
            return path
    return None


@functools.lru_cache(maxsize=256)
def names_imported(source: str, package: str) -> tuple[str, ...]:
    """Names that may be modules, of what a module of this package imports: of `from a import b` both a and a.b."""
    return tuple(_named(ast.parse(source), package))


def _named(tree: ast.AST, package: str) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")
            base = parents[: len(parents) - node.level + 1] if node.level else []
            start = ".".join([*base, *([node.module] if node.module else [])])
            yield start
            yield from (f"{start}.{alias.name}" for alias in node.names)
