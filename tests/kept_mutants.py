"""What could make an entry of `equivalent.toml` no mutant of what is right any more. To make a topic's mutants takes seconds: that each is
one is kept (kept.py).
"""

from __future__ import annotations

import sys
from importlib import metadata

from autograder.course_table import solution_source
from autograder.mutation import equivalent
from autograder.specimen_files import SPECIMENS, find_specimens

from .depends import programs

MAKERS = ("autograder.mutation.mutants", "autograder.mutation.equivalent")


def depends_on(topic: str) -> tuple[object, ...]:
    """Sources as they stand, comments and all: solution marks are comments."""
    right = [(each.file, each.text) for each in find_specimens(SPECIMENS, [topic]) if each.right]
    versions = sys.version_info[:2], *(metadata.version(name) for name in ("libcst", "mutmut"))
    return topic, versions, programs(*MAKERS), entries_of(topic), solution_source(topic), right


def entries_of(topic: str) -> str:
    path = equivalent.path_of(topic)
    return path.read_text(encoding="utf-8") if path.exists() else ""
