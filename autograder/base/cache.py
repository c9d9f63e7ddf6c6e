"""A local cache for results that take minutes to compute: executed notebooks, judged mutants, canaries.

An entry is a file `build/cache/<kind>/<name>-<key>`. The key is a digest of everything that the result depends on, so an entry is never
stale, and a lost one costs only time. Git ignores the folder. `COURSE_CACHE=off` switches the cache off; any other value is the folder
to use in place of `build/cache`.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from course.kit.paths import ROOT

from .files import write_whole

VARIABLE = "COURSE_CACHE"
OFF = "off"
FOLDER = ROOT / "build" / "cache"


def folder() -> Path | None:
    """Return the cache's folder, or None if the cache is switched off."""
    chosen = os.environ.get(VARIABLE)
    return None if chosen == OFF else Path(chosen) if chosen else FOLDER


def key(*parts: object) -> str:
    """Return a digest of the reprs of these parts."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]


def load(kind: str, name: str, key: str) -> bytes | None:
    """Return the entry with this key, or None."""
    with contextlib.suppress(OSError):
        if path := _path(kind, name, key):
            return path.read_bytes()
    return None


def store(kind: str, name: str, key: str, content: bytes, *, most: int = 1) -> None:
    """Store an entry, and remove the oldest entries of this kind and name beyond the newest `most`.

    If nothing can be written, the function does nothing.
    """
    path = _path(kind, name, key)
    if path is None:
        return
    with contextlib.suppress(OSError):
        write_whole(path, content)
        entries = sorted(path.parent.glob(f"{name}-*"), key=lambda entry: entry.stat().st_mtime)
        for old in entries[:-most]:
            old.unlink()


@contextmanager
def alone(kind: str, name: str) -> Iterator[None]:
    """Hold a lock on this kind and name, so that two processes do not make the same entry.

    The second process waits for the first, then loads the entry. The lock ends with its process, even if the process is killed.
    If nothing can be cached, no process waits.
    """
    found = folder()
    if found is None:
        yield
        return
    place = found / kind / f".{name}.lock"
    with ExitStack() as held:
        with contextlib.suppress(OSError):
            place.parent.mkdir(parents=True, exist_ok=True)
            fcntl.flock(held.enter_context(place.open("w")), fcntl.LOCK_EX)
        yield


def _path(kind: str, name: str, key: str) -> Path | None:
    found = folder()
    return found / kind / f"{name}-{key}" if found else None
