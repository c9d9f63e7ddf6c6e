"""Causes of a failure that an exception's class and message prove, in words for the reader of a verdict."""

from __future__ import annotations

import re
from collections.abc import Sequence


def cause_of(name: str, message: str, lines: Sequence[str] = ()) -> str | None:
    """Return the cause that an exception of Python's or torch's proves, or None.

    lines: the answer's own lines of the traceback, the innermost last. Causes that belong to one exercise are in `cause_of_exception` of
    `autograder/checking/checks/test_<topic>.py`.
    """
    if name == "NameError":
        return "Run the cell that defines the name, and spell the name as in the stub."
    if name == "EOFError" and message == "EOF when reading a line":
        return "The function calls `input()`, which nobody answers while a check runs: use the arguments only."
    if name == "TypeError" and (found := re.fullmatch(r"(\w+) is not a function but a value of type (\w+)", message)):
        return f"The name refers to a value, as after `{found[1]} = {found[1]}(...)`. Give the value another name."
    if name == "SystemExit":
        return "The function ends the whole program. End a function with `return`, or with an exception that says what is wrong."
    if name == "RecursionError":
        return "The function calls itself too deeply: without end, or once for each step of a long loop."
    if "device-side assert" in message:
        where = "An index was outside of a tensor on the GPU, here or in an earlier call."
        return f"{where} This process cannot use the GPU again: restart the kernel."
    if found := re.search(r"torch\.return_types\.(\w+)", message):
        return f"`{found[1]}` along a dimension returns values and indices together: take `.values` or `.indices`, or use `amax`, `argmax`."
    if found := re.search(r"tensor a \((\d+)\) must match the size of tensor b \((\d+)\) at non-singleton dimension (\d+)", message):
        fit = f"Two shapes do not match: in dimension {found[3]} one has {found[1]} and the other {found[2]}."
        return f"{fit}{_lost_dimension(lines[-1] if lines else '')}"
    if found := re.search(r"cannot be multiplied \((\d+)x(\d+) and (\d+)x(\d+)\)", message):
        a, b, c, d = map(int, found.groups())
        turned = f" With the second matrix transposed they agree: {a}x{b} times {d}x{c}." if b == d else ""
        return f"In a matrix product the inner sizes must agree, and {b} is not {c}.{turned}"
    return None


def _lost_dimension(line: str) -> str:
    """Return a sentence about a lost dimension if this line, where two shapes did not fit, shows one; "" otherwise."""
    if "keepdim" in line or not (found := re.search(r"\b(amax|amin|logsumexp|mean|norm|prod|sum)\([^()]*(?:dim=)?-?\d\)", line)):
        return ""
    return f" `{found[1]}` along a dimension takes that dimension away; with `keepdim=True` it stays, of size 1."
