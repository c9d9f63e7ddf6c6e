"""Canaries that are kept: what they have shown on this machine holds until something changes that they test.

To grade the reference and the blank notebook takes seconds, and a class is graded in many runs. So what has come out as it must is noted in
`build/canaries/`, by a digest of all that could make it come out otherwise: the course's and the autograder's own files, the inputs' seed,
the limits, the isolation level, the versions of Python, of the libraries and of the kernel. What went wrong is never noted.
"""

from __future__ import annotations

import contextlib
import hashlib
import platform
from dataclasses import asdict
from importlib import metadata
from pathlib import Path

from course.kit.paths import ROOT

from ..lessons import Day, release_notebook_path
from . import grade, zygotes
from .grade import Options, course_sha256

NOTED = ROOT / "build" / "canaries"
LIBRARIES = ("gguf", "ipython", "numpy", "safetensors", "tokenizers", "torch")
PARTS = ("autograder/*.py", "autograder/grading/**/*.py", "autograder/lessons/*.py", "autograder/checks/*.py", "course/kit/**/*.py")
"""Whose files count, beside the day's own. What certification, mutation and the site are made of grades nobody."""
MOST = 40
"""Notes of a day that stay: each class has a seed of its own, and some runs draw one."""


def canaries(day: Day, options: Options) -> None:
    """`grade.canaries`, unless they have come out right here before. Raises InfrastructureFault."""
    note = NOTED / day.slug / digest(day, options)
    if note.exists():
        return
    grade.canaries(day, options)
    with contextlib.suppress(OSError):  # a course that nobody may write to: then they are graded each time
        note.parent.mkdir(parents=True, exist_ok=True)
        note.touch()
        for old in sorted(note.parent.iterdir(), key=lambda path: path.stat().st_mtime)[:-MOST]:
            old.unlink()


def digest(day: Day, options: Options, root: Path = ROOT) -> str:
    """Changes with whatever could change what becomes of the canaries."""
    versions = [metadata.version(name) for name in LIBRARIES]
    machine = (platform.platform(), platform.machine(), platform.python_version(), zygotes.level())
    told = hashlib.sha256(repr((options.seed, asdict(options.limits), versions, machine, course_sha256(day))).encode())
    told.update(release_notebook_path(day).read_bytes())
    for path in sorted({path for part in PARTS for path in root.glob(part)}):
        told.update(path.relative_to(root).as_posix().encode() + hashlib.sha256(path.read_bytes()).digest())
    return told.hexdigest()[:32]
