"""A small class that was really graded, for the tests of reports, exports and regrading."""

from __future__ import annotations

import atexit
import functools
import shutil
import tempfile
from pathlib import Path

from autograder.gradebook.books.bulk import ClassFolder
from autograder.gradebook.books.gradebook import enter_day
from autograder.gradebook.books.writer import WriterThread
from autograder.grading.run import grade_all
from autograder.grading.tasks import find_tasks
from autograder.lessons import lesson

from .submissions import QUICK, SOFTMAX, hand_in, released, solved

EXERCISES = {e.name: e.points for e in lesson(SOFTMAX).exercises}
TOTAL = sum(EXERCISES.values())
WRONG = "def softmax(logits):\n    return logits.exp() / logits.exp().sum()"
ENDLESS = "def softmax(logits):\n    while True: pass"
LEAVES = "import os\ndef entropy(probs):\n    os._exit(0)"
CLASS = ("ada", "blank", "bob", "cut", "eve", "ivan")


def make_class(root: Path) -> None:
    hand_in(root, "ada", solved())
    hand_in(root, "blank", released())
    hand_in(root, "bob", solved(softmax=WRONG))
    hand_in(root, "cut", b'{"cells": [')
    hand_in(root, "eve", solved(softmax=ENDLESS))
    hand_in(root, "ivan", solved(entropy=LEAVES))


def grade_class(root: Path) -> ClassFolder:
    folder = ClassFolder.of(root / "submitted")
    tasks = list(find_tasks(folder.submitted, [SOFTMAX]))
    enter_day(SOFTMAX, folder.db_url)
    with WriterThread(folder) as writer:
        grade_all(tasks, QUICK, folder.records, progress=writer.of(tasks))
    assert writer.failures == {}
    return folder


@functools.cache
def _graded_once() -> Path:
    root = Path(tempfile.mkdtemp(prefix="graded-class-"))
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    make_class(root)
    grade_class(root)
    return root


def graded_class(root: Path) -> ClassFolder:
    """A copy of the class, graded once a test run, in a folder of one's own."""
    shutil.copytree(_graded_once(), root, dirs_exist_ok=True)
    return ClassFolder.of(root / "submitted")


def correct_by_hand(folder: ClassFolder, student: str, exercise: str, points: float | None = None, extra: float | None = None) -> None:
    """What formgrader does when a grader types a score."""
    from nbgrader.api import Gradebook

    with Gradebook(folder.db_url) as gradebook:
        grade = gradebook.find_grade(f"check_{exercise}", SOFTMAX.slug, SOFTMAX.slug, student)
        grade.manual_score, grade.extra_credit = points, extra
        grade.needs_manual_grade = False
        gradebook.db.commit()
