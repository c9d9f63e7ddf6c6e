"""What could make a day come out otherwise, as a whole: of these the results are kept (kept.py)."""

from __future__ import annotations

import functools

import nbformat

from autograder.certified import files
from autograder.imports import imported_files
from autograder.lessons import ROOT, Day, release_notebook_path, solved_notebook, syllabus
from autograder.site.execute import key

from .depends import content, judges


@functools.cache
def depends_on(day: Day) -> tuple[object, ...]:
    """Its two notebooks, how they are graded and how they are run."""
    days = [each for each in syllabus() if each.ready]
    cells = [[cell.source for cell in notebook.cells if cell.cell_type == "code"] for notebook in notebooks(day)]
    grading = content(imported_files(ROOT, ["autograder.grading.grade"]) - set(files(day.topic)))
    return judges(day.topic), cells, [key(day, days, each) for each in cells], grading


def notebooks(day: Day) -> list[nbformat.NotebookNode]:
    """As it is handed out, and solved."""
    return [nbformat.read(release_notebook_path(day), as_version=4), solved_notebook(day)]
