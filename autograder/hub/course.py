"""The course as students have it on a class server: what a bundle holds of the last day that was released.

    python -m autograder.hub.course FOLDER    # looks again and again, as a service of the server

So nobody finds a hidden check there, nor an answer to the last day that was released or a later one; those of the days before it are
there, for that day's notebook uses them where a student's own do not pass.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import shutil
import sys
import time
import zipfile
from pathlib import Path

from ..gradebook.lms.bundle import UNPACKED, bundle_bytes
from ..lessons import ROOT, Day, syllabus
from .layout import HubFolder

EVERY = 2.0
"""Seconds between two looks at what is released."""


def last_released(folder: HubFolder) -> Day:
    """The first day where nothing is released yet: its notebook is not handed out, but start_here needs a course to import."""
    days = [day for day in syllabus() if day.ready]
    out = [day for day in days if (folder.released / day.slug).is_dir()]
    return max(out, key=lambda day: day.number, default=days[0])


def last_of(folder: HubFolder) -> Day:
    """The last day released now or ever: whoever fetched a day that was withdrawn still works on it."""
    name = folder.course.readlink().name if folder.course.is_symlink() else ""
    there = [day for day in syllabus() if name.startswith(f"{day.slug}-")]
    return max([last_released(folder), *there], key=lambda day: day.number)


def lay_out(folder: HubFolder) -> Path:
    """Sees to it that <class>_hub/course is the course up to the last day released. -> where it lies

    Made beside and moved into place: a kernel that imports meanwhile sees the old or the new one, whole.
    """
    day = last_of(folder)
    packed = bundle_bytes(day)
    place = folder.courses / f"{day.slug}-{_short(packed)}"
    if not place.exists():
        folder.courses.mkdir(exist_ok=True)
        beside = folder.courses / f".{os.getpid()}"
        shutil.rmtree(beside, ignore_errors=True)
        with zipfile.ZipFile(io.BytesIO(packed)) as archive:
            archive.extractall(beside)
        models = beside / UNPACKED / "datasets" / "models"
        models.symlink_to(ROOT / "datasets" / "models")
        (beside / UNPACKED).rename(place)
        beside.rmdir()
    if not folder.course.is_symlink() or folder.course.readlink() != place:
        link = folder.root / f".course-{os.getpid()}"
        link.unlink(missing_ok=True)
        link.symlink_to(place)
        link.replace(folder.course)
    return place


def _short(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:12]


def watch(folder: HubFolder) -> None:
    """Lays out the course whenever a later day has been released. Without end."""
    laid_out: Day | None = None
    while True:
        day = last_of(folder)
        if day != laid_out:
            lay_out(folder)
            laid_out = day
        time.sleep(EVERY)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        watch(HubFolder(Path(sys.argv[1])))
