"""Remarks on a test whose source looks for more than a function's results. Remarks cost no points, because such attempts gain nothing."""

from __future__ import annotations

import ast

from ...base.parsing import parse

MODULES = frozenset({
    "inspect", "dis", "gc", "sys", "os", "pathlib", "ctypes", "subprocess", "socket", "traceback", "importlib", "solutions",
})  # fmt: skip
NAMES = frozenset({"open", "globals", "vars", "eval", "exec", "__import__"})
ATTRIBUTES = frozenset({
    "__code__", "__closure__", "__globals__", "__name__", "__qualname__", "__module__", "__doc__", "__defaults__", "__wrapped__",
    "_getframe",
})  # fmt: skip
PEEKS = "That shows nothing: the argument is the same proxy for every version, and the version's code runs in another process."
KEEPS = "The test runs in a new process for each version, so nothing stored by an earlier run remains."
PATCHES = "The version runs in another process, where the change has no effect."


def remarks(source: str) -> list[str]:
    """Return one sentence for each kind of futile attempt in a test, with the line of the first."""
    try:
        tree = parse(source)
    except SyntaxError:
        return []
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if (what := peeks(node)) is not None:
            found.setdefault(PEEKS, f"The test looks at more than what it is given (`{what}`, line {line_of(node)}). {PEEKS}")
        if isinstance(node, ast.Global):
            kept = ", ".join(node.names)
            found.setdefault(KEEPS, f"The test stores `{kept}` from one call to the next (line {line_of(node)}). {KEEPS}")
        if (what := patches(node)) is not None:
            found.setdefault(PATCHES, f"The test changes `{what}` (line {line_of(node)}). {PATCHES}")
    return list(found.values())


def peeks(node: ast.AST) -> str | None:
    match node:
        case ast.Import(names=names):
            return next((each.name for each in names if each.name.partition(".")[0] in MODULES), None)
        case ast.ImportFrom(module=str(module)) if module.partition(".")[0] in MODULES:
            return module
        case ast.Name(id=name) if name in NAMES or name in MODULES - {"solutions"}:
            return name
        case ast.Attribute(attr=name) if name in ATTRIBUTES:
            return name
    return None


def patches(node: ast.AST) -> str | None:
    """Return the part of torch that a node changes, or None."""
    targets: list[ast.expr] = []
    match node:
        case ast.Assign(targets=targets):
            pass
        case ast.AugAssign(target=target):
            targets = [target]
        case ast.Call(func=ast.Name(id="setattr"), args=[owner, *_]):
            return ast.unparse(owner) if root(owner) == "torch" else None
        case ast.Call(func=ast.Attribute(attr="setattr" | "object" | "patch"), args=[owner, *_]):
            return ast.unparse(owner).strip("'\"") if root(owner) == "torch" or "torch." in ast.unparse(owner) else None
    return next((ast.unparse(each) for each in targets if isinstance(each, ast.Attribute) and root(each) == "torch"), None)


def root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def line_of(node: ast.AST) -> int:
    return int(getattr(node, "lineno", 0))
