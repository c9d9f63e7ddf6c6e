"""The guard of a notebook's first code cell: in a kernel that does not find the course, it raises an error that says what to do.

Only notebooks have the guard. Graders run a lesson's setup cell without it, and a notebook's day is recognized with and without it.
"""

from __future__ import annotations

import re

from autograder import __version__

FUTURE = "from __future__ import annotations\n"
MESSAGE = (
    "This kernel does not find the course.",
    "If you have installed it, choose the kernel of that Python.",
    f"If not, run `%pip install ./from_prompt_to_token-{__version__}-py3-none-any.whl` (`make wheel` writes this file),",
    "then `!prompt-to-token --no-lab`, and do what it prints.",
)
_BEGIN = "try:\n    import autograder.notebook\nexcept ModuleNotFoundError:\n    raise ModuleNotFoundError("
GUARD = _BEGIN + "\n" + "".join(f'        "{part} "\n' for part in MESSAGE[:-1]) + f'        "{MESSAGE[-1]}"\n    ) from None\n\n'
_ANY_GUARD = re.compile(re.escape(_BEGIN) + r"\n(?: .*\n)+\n*")


def with_guard(source: str) -> str:
    """Return a cell's text with the guard before its first statement, but after an import from `__future__`, which must come first."""
    future = FUTURE if source.startswith(FUTURE) else ""
    rest = source.removeprefix(future).lstrip("\n")
    return f"{future}\n{GUARD}{rest}" if future else GUARD + rest


def without_guard(source: str) -> str:
    """Return a cell's text without a guard, of this version of the course or of another one."""
    return _ANY_GUARD.sub("", source, count=1)


def comparable(source: str) -> str:
    """Return a cell's text to compare: without a guard, and without the blanks that a front end may add or drop."""
    return without_guard("\n".join(line.rstrip() for line in source.strip().splitlines()))
