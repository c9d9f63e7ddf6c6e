"""Extraction of a test from a notebook: its own text, and the notebook's functions, imports and numbers that it uses."""

from __future__ import annotations

import ast
import builtins
import inspect
import textwrap
import types
from collections.abc import Callable
from typing import Any

from ...base.errors import CourseError
from ...lessons.marks import free_names


def gathered(test: Callable[..., Any], namespace: dict[str, Any], *, exercise: str, given: set[str]) -> tuple[str, str]:
    """Return (the source of everything that a test uses, the test's own source). given: names that are defined anyway.

    Raises CourseError for a value that cannot be copied.
    """
    taken: dict[str, str] = {}

    def take(name: str, value: Any) -> None:
        if name == exercise:
            repeated = "A test that repeats your function repeats its mistakes."
            raise CourseError(f"it uses your own {exercise}: write the expected value, or a rule that it follows. {repeated}")
        if name in taken or name in given or (name not in namespace and hasattr(builtins, name)):
            return
        taken[name] = ""  # it may use itself
        taken[name] = text(name, value)

    def text(name: str, value: Any) -> str:
        if isinstance(value, types.ModuleType):
            return f"import {value.__name__} as {name}"
        own = getattr(value, "__module__", None)
        if isinstance(value, types.FunctionType | type) and own == namespace.get("__name__"):
            found = source_of(value, name)
            for used in sorted(free_names(found)):
                if used in namespace and used != name:
                    take(used, namespace[used])
            return found
        if is_literal(value):
            return f"{name} = {value!r}"
        if isinstance(own, str) and importable(own, getattr(value, "__qualname__", "")):
            return f"from {own} import {value.__qualname__} as {name}"
        raise CourseError(f"it uses `{name}` of your notebook, a value that cannot be copied: define `{name}` inside the test.")

    name = getattr(test, "__name__", "")
    if not isinstance(test, types.FunctionType) or not name.isidentifier():
        raise CourseError("the second argument must be a function, `def test_...(x):`: pass its name without brackets.")
    main = source_of(test, name)
    for used in sorted(free_names(main)):
        if used in namespace and used != name:
            take(used, namespace[used])
    return "\n\n".join(each for each in taken.values() if each), main


def source_of(function: Any, name: str) -> str:
    try:
        return textwrap.dedent(inspect.getsource(function))
    except (OSError, TypeError, SyntaxError):
        raise CourseError(f"the source of `{name}` cannot be found: define the function in a cell, run that cell, then this one.") from None


def is_literal(value: Any) -> bool:
    try:
        return bool(ast.literal_eval(repr(value)) == value)
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError, RuntimeError):
        return False


def importable(module: str, name: str) -> bool:
    return name.isidentifier() and not module.startswith(("solutions", "earlier_", "__main__"))
