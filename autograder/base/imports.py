"""The course's own files that a module may import, read from their sources: no code is run."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from .parsing import parse


def imported_files(
    root: Path, names: Iterable[str], leave_out: Callable[[str], bool] = lambda name: False, *, package: str = "autograder"
) -> set[Path]:
    """Return the files of these modules and of all modules that they may import from one package, as paths from root.

    Imports inside functions count, too. leave_out: a predicate on names; a module that it selects is left out.
    """
    found: set[Path] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        path = None if leave_out(name) else _module_file(root, name, package)
        if path is None or path in found:
            continue
        found.add(path)
        around = name if path.name == "__init__.py" else name.rpartition(".")[0]
        waiting += names_imported((root / path).read_text(encoding="utf-8"), around)
        while around:  # importing a module imports the packages around it
            waiting.append(around)
            around = around.rpartition(".")[0]
    return found


def _module_file(root: Path, name: str, package: str) -> Path | None:
    base = Path(*name.split("."))
    for path in (base / "__init__.py", base.with_suffix(".py")):
        if name.split(".")[0] == package and (root / path).is_file():
            return path
    return None


@functools.lru_cache(maxsize=1024)
def names_imported(source: str, package: str) -> tuple[str, ...]:
    """Return all names in a module's imports that may be modules: for `from a import b` both a and a.b.

    package: the module's package, for relative imports.
    """
    return tuple(_named(parse(source), package))


def kit_files(root: Path, files: Iterable[Path], names: Iterable[str] = ()) -> set[Path]:
    """Return the files of `course` that these modules and names may import, as paths from root.

    files: the modules, also as paths from root. Modules that `course.kit` imports lazily are always included.
    """
    names = {"course.kit", *names}
    for path in files:
        names.update(names_imported((root / path).read_text(encoding="utf-8"), ".".join(path.parent.parts)))
    return imported_files(root, sorted(names), package="course")


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
