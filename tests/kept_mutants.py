"""Of which topics it is kept that every entry in `equivalent.toml` is a mutant of what is right, by a digest of all that this depends on.

To make a topic's mutants takes seconds. `python -m tests.kept_mutants`, a part of `make keep`, makes those of what is not kept; the suite
makes them too, and those of a share of the rest.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterable
from importlib import metadata
from pathlib import Path

from autograder.certified import what_counts
from autograder.certify import known_topics
from autograder.course_table import solution_source
from autograder.imports import imported_files
from autograder.lessons import ROOT
from autograder.mutation import equivalent
from autograder.specimen_files import SPECIMENS, find_specimens

from .kept_days import read, write

KEPT = ROOT / "tests" / "kept_mutants.json"
"""{topic: digest}"""


def is_kept(topic: str, kept: Path = KEPT) -> bool:
    return read(kept).get(topic) == digest(topic)


def digest(topic: str) -> str:
    """Sources as they stand, comments and all: solution marks are comments."""
    told = hashlib.sha256(repr((topic, sys.version_info[:2], *(metadata.version(name) for name in ("libcst", "mutmut")))).encode())
    for path in sorted(imported_files(ROOT, ["autograder.mutation.mutants", "autograder.mutation.equivalent"])):
        told.update(what_counts(ROOT / path))
    told.update(entries_of(topic))
    told.update(solution_source(topic).encode())
    for specimen in find_specimens(SPECIMENS, [topic]):
        if specimen.right:
            told.update(f"{specimen.file}\0{specimen.text}".encode())
    return told.hexdigest()[:16]


def entries_of(topic: str) -> bytes:
    path = equivalent.path_of(topic)
    return path.read_bytes() if path.exists() else b""


def keep(topics: Iterable[str], find: Callable[[str], None], kept: Path = KEPT) -> None:
    """Calls `find` for each topic that is not kept, and keeps it unless that raises."""
    entries = read(kept)
    for topic in topics:
        if not is_kept(topic, kept):
            find(topic)
            entries[topic] = digest(topic)
            write(kept, entries)


if __name__ == "__main__":
    from tests import test_mutation

    keep(known_topics(), test_mutation.are_mutants_of_what_is_right)
