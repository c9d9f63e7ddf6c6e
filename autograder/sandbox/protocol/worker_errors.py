"""Outcomes of a student's code besides a result: exceptions, the end of its process, and side effects."""

from __future__ import annotations

import builtins
import re
from collections.abc import Sequence
from typing import Any

from torch import Tensor

from ...authoring import CheckFailed
from .comparing import same

ALLOWED_EXCEPTIONS = {
    name: cls for name, cls in vars(builtins).items() if isinstance(cls, type) and issubclass(cls, Exception)
}  # fmt: skip
LOST = "the submission's process ended while this check held an object of it"


class WorkerDied(Exception):
    """The end of the student's process: by itself, by a crash, or by a kill at a deadline. `outcome` says which."""

    def __init__(self, outcome: str, message: str) -> None:
        super().__init__(message)
        self.outcome = outcome


def nonsense(what: str) -> WorkerDied:
    """Return the WorkerDied for a worker that breaks the protocol: the fault is always the submission's."""
    return WorkerDied("crashed", f"the submission's process sent nonsense ({what})")


class StudentRaised(Exception):
    """An exception from the student's own code. names: the exception's classes. lines: the student's lines of the traceback."""

    names: list[str]
    lines: list[str]


def student_raised(names: list[str], message: str, lines: list[str]) -> StudentRaised:
    """Return an exception that is a StudentRaised and also the nearest builtin class, so `except ValueError` works in a check."""
    base = next((ALLOWED_EXCEPTIONS[name] for name in names if name in ALLOWED_EXCEPTIONS), Exception)
    if base in (StopIteration, StopAsyncIteration):
        base = RuntimeError
    bases: tuple[type, ...] = (StudentRaised,) if base is Exception else (StudentRaised, base)
    cls = type(names[0] if names and names[0].isidentifier() else "Exception", bases, {"__str__": lambda self: message})
    try:
        error = cls(message)
    except TypeError:  # UnicodeDecodeError and its like want more arguments
        error = type("StudentError", (StudentRaised,), {"__str__": lambda self: message})(message)
    error.names, error.lines = names, lines
    return error


def builtin_name(error: BaseException | None) -> str:
    """Return the nearest builtin class of an exception, "" for none."""
    return next((cls.__name__ for cls in type(error).__mro__ if vars(builtins).get(cls.__name__) is cls), "") if error is not None else ""


def compare_arguments(name: str, before: list[Any], after: list[Any]) -> None:
    """Raise CheckFailed if an argument has changed."""
    for position, (old, new) in enumerate(zip(before, after, strict=True)):
        if not same(old, new):
            raise CheckFailed(f"{name} changed its argument {position + 1} in place", cause=_writes_into(old), fact=True)


def _writes_into(argument: Any) -> str:
    """Name the operations that write into an argument of this kind: the change is proved, but not which line made it."""
    if isinstance(argument, Tensor):
        return "The caller's tensor has changed. Operations that end in an underscore, `x[...] = ...` and `x += ...` write into it."
    if isinstance(argument, list):
        return "The caller's list has changed. `append`, `insert`, `sort`, `x[i] = ...` and `x += ...` write into it."
    if isinstance(argument, dict):
        return "The caller's dict has changed. `x[key] = ...`, `pop` and `update` write into it."
    return "The caller's argument has changed: work on a copy."


def compare_random_states(name: str, before: Any, after: Any) -> None:
    if not same(before, after):
        raise CheckFailed(f"{name} moved torch's global random state", cause="It is not the same as before the call.", fact=True)


def changed_modes(left: Any) -> CheckFailed:
    """Return the failure of a call after which a mode of torch's is another. left: {mode: [before, after]}, from the worker."""
    modes = left if isinstance(left, dict) else {}
    match modes.get("gradients"), modes.get("dtype"):
        case [str(before), str(after)], _:
            return CheckFailed(
                f"the call leaves torch's gradient mode {after[:20]!r} for its caller, where it was {before[:20]!r}",
                cause="`with torch.no_grad():` restores the mode at its end, after an exception too; `torch.set_grad_enabled` does not.",
                fact=True,
            )
        case _, [str(before), str(after)]:
            return CheckFailed(
                f"the call leaves torch's default dtype {after[:20]} for its caller, where it was {before[:20]}",
                cause="`torch.set_default_dtype` changes every later tensor of the program. Give the tensors a dtype instead.",
                fact=True,
            )
    return CheckFailed("the call leaves a mode of torch's changed for its caller")


def error_parts(error: Any) -> tuple[list[str], str, list[str]]:
    if not isinstance(error, dict):
        return ["Exception"], "", []
    names, lines = _texts(error.get("names")), _texts(error.get("lines"))
    message = error.get("message")
    text = message[:2000] if isinstance(message, str) else ""
    return [n[:80] for n in names[:12]] or ["Exception"], text, [line[:300] for line in lines[:6]]


def _texts(value: Any) -> list[str]:
    return [v for v in value if isinstance(v, str)] if isinstance(value, list) else []


def is_memory(names: list[str], message: str, lines: Sequence[str] = ()) -> bool:
    """Return whether an exception proves that no memory was left: by its class, or by the allocator's name in its text.

    lines: the student's own lines of the traceback, the innermost last. An exception from the student's own `raise` proves nothing. A
    message about memory does not prove it either, because a check or a student may have written that message.
    """
    if lines and re.search(r": raise\b", lines[-1]):
        return False
    if "MemoryError" in names or "OutOfMemoryError" in names:
        return True
    return ("RuntimeError" in names and "DefaultCPUAllocator: " in message) or ("OSError" in names and message.startswith("[Errno 12]"))
