"""A student's own copies of the notebooks in work/, made once and never overwritten."""

from __future__ import annotations

from pathlib import Path

from autograder.base.errors import CourseError
from autograder.lessons.notebooks import START, capstone_path, copy_figures
from autograder.lessons.release import release_notebook_path
from autograder.lessons.syllabus import ROOT, Day, syllabus


def copy_to_work(day: Day, work: Path | None = None) -> Path:
    """Copy the day's notebook to work/<slug>/ unless a file exists there, and update its figures. Return the copy's path.

    work is the folder itself, by default the checkout's. Raises CourseError if the day has no release notebook yet.
    """
    released = release_notebook_path(day)
    if not released.exists():
        raise CourseError(f"{released} is missing: run `autograder release {day.number}`")
    target = (work or day.root / "work") / day.slug / released.name
    copy_figures(day, target.parent)
    _copy_once(released, target)
    return target


def prepare_work(work: Path | None = None, root: Path = ROOT) -> list[Path]:
    """Put start_here and every released day into work/. Return the paths of the notebooks that were not there before."""
    folder = work or root / "work"
    new = []
    start = root / "course" / f"{START}.ipynb"
    if start.exists() and _copy_once(start, folder / start.name):
        new.append(folder / start.name)
    for day in syllabus(root):
        if release_notebook_path(day).exists():
            was_there = (folder / day.slug / f"{day.slug}.ipynb").exists()
            path = copy_to_work(day, folder)
            new += [] if was_there else [path]
    capstone = capstone_path(root)
    target = folder / capstone.parent.name / capstone.name
    if capstone.exists() and _copy_once(capstone, target):
        new.append(target)
    return new


def _copy_once(source: Path, target: Path) -> bool:
    """Copy the file unless the target exists. Return True if it was copied."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with target.open("xb") as copy:  # refuses, even if another process has just made it
            copy.write(source.read_bytes())
    except FileExistsError:
        return False
    return True
