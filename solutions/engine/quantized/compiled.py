"""Compiling a function once for a machine's processor, and caching the result in the course's folder."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from numba import njit
from numba.core import config as _config

from course.kit.paths import ROOT

SOURCES = ("amx.py", "compiled.py", "instruction_sets.py", "kernels.py", "step.py", "vectors.py")
_sources = b"".join((Path(__file__).parent / name).read_bytes() for name in SOURCES)
COMPILED = ROOT / "build" / "compiled" / hashlib.sha256(_sources).hexdigest()[:16]
"""Directory of the compiled code.

Its name has a hash of several files, because numba checks only the file of a function, and these functions are built from several.
"""
config: Any = _config  # numba makes its settings when it is imported


def compile_once(function: Any) -> Any:
    """Compile a function once for a machine's processor and cache the result. The function runs without the interpreter lock.

    A division by zero or NaN does not raise: the other threads would wait for the thread that raised for ever.
    """
    before = config.CACHE_DIR
    try:
        COMPILED.mkdir(parents=True, exist_ok=True)
        config.CACHE_DIR = str(COMPILED)
    except OSError:  # a course that cannot be written to: numba finds a place of the user's
        pass
    try:
        return njit(nogil=True, cache=True, fastmath=True, error_model="numpy")(function)
    finally:
        config.CACHE_DIR = before
