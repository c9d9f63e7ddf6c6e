"""A submitted file, read from the disk once into plain data, so that another machine can grade it, too."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

MAX_BYTES = 40 * 1024 * 1024
HEAD_BYTES = 64 * 1024


@dataclass(frozen=True)
class SubmittedFile:
    """The contents of a file, or the reason why it cannot be a submission.

    sha256: the checksum of a plain file, empty for anything else. problem: the reason, found from the file's kind and size alone, not from
    its contents.
    """

    name: str
    sha256: str
    content: bytes = b""
    problem: str | None = None


def collect(path: Path) -> SubmittedFile:
    """Read a submitted file. Raises OSError if a plain file cannot be read."""

    def bad(problem: str) -> SubmittedFile:
        return SubmittedFile(path.name, file_sha256(path), problem=f"{path.name} {problem}")

    if not path.exists() and not path.is_symlink():
        others = sorted(each.name for each in path.parent.glob("*.ipynb")) if path.parent.is_dir() else []
        there = f", and holds {', '.join(others[:3])}" if others else ""
        return bad(f"is missing: the folder {path.parent.name}/ must hold a notebook of that name{there}")
    if path.is_symlink() or not path.is_file():
        return bad("is not a plain file: hand in the notebook itself")
    size = path.stat().st_size
    if size == 0:
        return bad("is empty: save the notebook and hand it in again")
    if size > MAX_BYTES:
        return bad(f"has {size / 1e6:.0f} MB, more than {MAX_BYTES / 1e6:.0f}: clear its outputs and hand it in again")
    with path.open("rb") as file:
        content = file.read(MAX_BYTES + 1)  # it may have grown meanwhile; then it is as it was, cut off
    return SubmittedFile(path.name, hashlib.sha256(content).hexdigest(), content)


def file_sha256(path: Path) -> str:
    """Return the checksum of a plain file, empty for anything else and for a file that cannot be read.

    A file over the limit is identified by its beginning and its size.
    """
    try:
        if path.is_symlink() or not path.is_file():
            return ""
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size <= MAX_BYTES:
                return hashlib.file_digest(file, "sha256").hexdigest()
            return hashlib.sha256(file.read(HEAD_BYTES) + f" and so on, {size} bytes".encode()).hexdigest()
    except OSError:
        return ""
