"""The course as students have it on a class server: the content of the bundle of the last released day.

    python -m autograder.hub.course FOLDER    # a service of the server, which looks for new bundles again and again

So the server has no hidden checks, and no answers to the last released day or later days. It has the answers to earlier days, because
the last day's notebook uses them if a student's own functions do not pass.
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

from ..base import own
from ..gradebook.lms.bundle import UNPACKED, bundle_bytes
from ..lessons import ROOT, Day, syllabus
from .layout import HubFolder

EVERY = 2.0
"""The seconds between two looks at the released days."""


def last_released(folder: HubFolder) -> Day:
    """Return the last released day, or the first day if no day is released.

    In that case the first day's notebook is not handed out, but start_here still needs a course to import.
    """
    days = [day for day in syllabus() if day.ready]
    out = [day for day in days if (folder.released / day.slug).is_dir()]
    return max(out, key=lambda day: day.number, default=days[0])


def last_of(folder: HubFolder) -> Day:
    """Return the last day ever released, because students who fetched a withdrawn day still work on it."""
    name = folder.course.readlink().name if folder.course.is_symlink() else ""
    there = [day for day in syllabus() if name.startswith(f"{day.slug}-")]
    return max([last_released(folder), *there], key=lambda day: day.number)


def lay_out(folder: HubFolder) -> Path:
    """Update <class>_hub/course to the last day released. Return the folder that it links to.

    The new folder is complete before the link changes, so a kernel that imports meanwhile sees either the old folder or the new one, never
    a mixture.
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
    """Update the course whenever a later day is released. Runs for ever."""
    laid_out: Day | None = None
    while True:
        day = last_of(folder)
        if day != laid_out:
            lay_out(folder)
            laid_out = day
        time.sleep(EVERY)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        own.use(own.folder_of(Path(sys.argv[1])))
        watch(HubFolder(Path(sys.argv[1])))
