"""The way from `lesson.md` and a solutions module to notebooks.

syllabus (the table of days) -> markdown (parses a lesson) -> notebooks (the instructor's version) -> release (the
students', by nbgrader) -> work (a student's copies).
Importing this package is cheap: nbformat and nbgrader are imported only by modules that build.
"""

from autograder.lessons.markdown import Cell, Exercise, Hint, Lesson, lesson
from autograder.lessons.notebooks import (
    CAPSTONE,
    build_capstone,
    build_source,
    build_start,
    capstone_bytes,
    capstone_path,
    solved_notebook,
    source_notebook,
    source_path,
    start_bytes,
)
from autograder.lessons.release import build_release, generate_assignment_config, release_bytes, release_notebook_path
from autograder.lessons.syllabus import ROOT, Day, find_day, syllabus
from autograder.lessons.work import copy_to_work, prepare_work

__all__ = [
    "CAPSTONE", "ROOT", "Cell", "Day", "Exercise", "Hint", "Lesson", "build_capstone", "build_release", "build_source", "build_start",
    "capstone_bytes", "capstone_path", "copy_to_work", "find_day", "generate_assignment_config", "lesson", "prepare_work", "release_bytes",
    "release_notebook_path", "solved_notebook", "source_notebook", "source_path", "start_bytes", "syllabus",
]  # fmt: skip
