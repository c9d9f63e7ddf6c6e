"""A thread-safe `ast.parse`, and a program without its docstrings."""

from __future__ import annotations

import ast
import threading

_one_at_a_time = threading.Lock()


def parse(source: str | bytes) -> ast.Module:
    """Parse a module, one thread at a time. Raises the same exceptions as `ast.parse`.

    In CPython 3.11 and 3.12 all threads share the parser's depth counter. Two threads that parse at once may raise
    "SystemError: AST constructor recursion depth mismatch" (python/cpython#106905).
    """
    with _one_at_a_time:
        return ast.parse(source)


def without_docstrings(tree: ast.Module) -> ast.Module:
    """Remove docstrings and other bare strings from the tree, in place, and return the tree."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = [each for each in node.body if not _is_text(each)] or [ast.Pass()]
    return tree


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
