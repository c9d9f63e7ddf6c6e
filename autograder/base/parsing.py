"""A thread-safe `ast.parse`."""

from __future__ import annotations

import ast
import threading

_one_at_a_time = threading.Lock()


def parse(source: str | bytes) -> ast.Module:
    """Parse a module, one thread after the other. Raises what `ast.parse` raises.

    In CPython 3.11 and 3.12 all threads share the parser's count of its depth, and two that parse at once may raise
    "SystemError: AST constructor recursion depth mismatch" (python/cpython#106905).
    """
    with _one_at_a_time:
        return ast.parse(source)
