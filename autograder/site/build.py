"""`python -m autograder.site`: the site, from the lessons and docs/ to pages that need no network."""

from __future__ import annotations

import io
import os
import shutil
import time
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

from autograder.base.errors import CourseError
from autograder.gradebook.lms.bundle import bundle_bytes
from autograder.lessons import ROOT, Day, syllabus
from course.kit import paths

from . import pages
from .execute import executed

OUT = ROOT / "build" / "site"
AT_ONCE = 2
"""The number of notebooks that run side by side. A day may take up to three gigabytes."""


def build(
    out: Path = OUT,
    *,
    answers: bool = True,
    days: Sequence[Day] = (),
    say: Callable[[str], None] = print,
) -> None:
    """Build the site in `out`; the old site stays until the new one is complete. days: the days to show, by default all ready ones.

    Raises CourseError if a notebook's cell fails or Sphinx warns of anything.
    """
    from sphinx.cmd.build import build_main

    start = time.monotonic()
    chosen = [day for day in days or syllabus() if day.ready]
    if not paths.SMOLLM2.is_file():
        say("SmolLM2 is not installed (`make model` fetches it): cells that need it are shown without their output")
    at_once = min(AT_ONCE, os.cpu_count() or 1)
    # Two kernels with a thread for each core would wait for each other, on a busy machine for longer than they compute.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    ran = executed(chosen, at_once=at_once, say=say)
    temporary = out.with_name(f"{out.name}-work")
    site = pages.Site(temporary / "source", chosen, answers)
    shutil.rmtree(temporary, ignore_errors=True)
    pages.write(site, ran)
    made = temporary / "html"
    settings = ["-b", "html", "-c", str(pages.BY_HAND), "-d", str(temporary / "doctrees"), "-q", "-W", "--keep-going"]
    if build_main([*settings, str(site.source), str(made)]) != 0:
        raise CourseError(f"the site has faults, listed above, and {out} is unchanged: fix them and build again")
    if site.as_is.exists():
        shutil.copytree(site.as_is, made, dirs_exist_ok=True)
    (made / ".nojekyll").touch()  # or a forge that publishes a branch leaves out what begins with an underscore
    if answers:  # a zip holds the answers of earlier days
        for day in chosen:
            (made / "days" / f"{day.slug}.zip").write_bytes(packed(day))
    shutil.rmtree(out, ignore_errors=True)
    made.replace(out)
    shutil.rmtree(temporary)
    files = [path for path in out.rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files) / 1e6
    with_answers = "answers folded" if answers else "without answers"
    say(f"{out / 'index.html'}: {len(chosen)} days, {with_answers}; {len(files)} files, {size:.1f} MB, {time.monotonic() - start:.0f} s")


def packed(day: Day) -> bytes:
    """Return the day's bundle, compressed: many people download it, and nobody compares its bytes."""
    small = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(bundle_bytes(day))) as stored, zipfile.ZipFile(small, "w") as archive:
        for entry in stored.infolist():
            archive.writestr(entry, stored.read(entry), zipfile.ZIP_DEFLATED, compresslevel=1)
    return small.getvalue()
