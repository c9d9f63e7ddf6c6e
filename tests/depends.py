"""Digests of what the result of a test depends on, for `kept` (kept.py)."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterable
from pathlib import Path

from autograder import certified
from autograder.grading.limits import Limits
from autograder.imports import imported_files
from autograder.lessons import ROOT


@functools.cache
def judges(topic: str) -> str:
    """A digest of all that judges the topic's specimens."""
    return certified.judges(topic, Limits())


@functools.cache
def programs(*modules: str) -> str:
    """A digest of the files that these modules are and come to import, but for comments."""
    return content(imported_files(ROOT, modules))


def content(paths: Iterable[Path]) -> str:
    """A digest of files, the same in every checkout; of Python what runs, with its docstrings."""
    told = hashlib.sha256()
    for path in sorted((ROOT / path).relative_to(ROOT) for path in paths):
        told.update(f"\0{path.as_posix()}\0".encode() + certified.what_counts(ROOT / path))
    return told.hexdigest()
