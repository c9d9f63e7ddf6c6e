"""Every day that is ready, as a whole: graded solved and unsolved, and run from top to bottom as a student would."""

import os
import shutil
import time

import nbformat
import pytest
from nbclient import NotebookClient

from autograder.checking.runner import load_checks, reference
from autograder.grading.grade import Options, grade_file
from autograder.grading.tasks import Task
from autograder.lessons import lesson, release_notebook_path, solved_notebook, syllabus
from autograder.site.execute import Peak, executed, needed

READY = [day for day in syllabus() if day.ready]
each_day = pytest.mark.parametrize("day", READY, ids=lambda day: day.slug)

MAX_SECONDS = 180
MAX_BYTES = 3 * 1024**3
ONE_THREAD = {"OMP_NUM_THREADS": "1"}
"""Two test files run side by side, and threads that wait for each other's processor cost more than they bring."""


def written(day, tmp_path, *, solved):
    folder = tmp_path / "work" / day.slug
    folder.mkdir(parents=True)
    if (day.folder / "figures").exists():
        shutil.copytree(day.folder / "figures", folder / "figures")
    path = folder / f"{day.slug}.ipynb"
    if solved:
        nbformat.write(solved_notebook(day), path)
    else:
        shutil.copy(release_notebook_path(day), path)
    return path


def in_words(notebook):
    """What the cells have printed."""
    return "\n".join(o.get("text", "") for c in notebook.cells if c.cell_type == "code" for o in c.outputs if o.output_type == "stream")


def first_to_be_written(day, exercise):
    """The exercise; and for a class those of the day that it is made from, whose stubs are met before its own."""
    found = getattr(reference(day.topic), exercise)
    return [cls.__name__ for cls in found.__mro__] if isinstance(found, type) else [exercise]


@pytest.mark.slow
@each_day
def test_full_marks_where_solved(day, tmp_path):
    record = grade_file(Task("solved", day, written(day, tmp_path, solved=True)), Options(seed=7))
    assert record.infrastructure is None
    assert [f"{v.check}: {v.message}" for v in record.verdicts if v.failed] == []
    assert record.points == record.max_points == lesson(day).points


@pytest.mark.slow
@each_day
def test_nothing_where_unsolved_and_each_stub_names_its_exercise(day, tmp_path):
    record = grade_file(Task("blank", day, written(day, tmp_path, solved=False)), Options(seed=7))
    assert record.points == 0
    for exercise in lesson(day).exercises:
        messages = [v.message for v in record.exercise(exercise.name)]
        stubs = tuple(f"not written yet: {name}" for name in first_to_be_written(day, exercise.name))
        assert any(m.startswith(stubs) for m in messages), (exercise.name, messages)


@pytest.mark.slow
@each_day
def test_the_unsolved_notebook_runs_from_top_to_bottom(day, tmp_path):
    """Within three minutes and three gigabytes, the real model included, without an error in any cell."""
    path = written(day, tmp_path, solved=False)
    notebook = nbformat.read(path, as_version=4)
    environment = os.environ | ONE_THREAD | {"COURSE_WORK": str(tmp_path / "work")}
    start = time.monotonic()
    client = NotebookClient(notebook, timeout=MAX_SECONDS, resources={"metadata": {"path": str(path.parent)}})
    peak = Peak(client)
    client.execute(env=environment)
    seconds = time.monotonic() - start
    print(f"{day.slug} unsolved: {seconds:.0f} s, the kernel's peak {peak.bytes / 1e9:.2f} GB")
    assert "Traceback" not in in_words(notebook)
    assert 0 < peak.bytes < MAX_BYTES
    if not os.environ.get("PYTEST_XDIST_WORKER"):
        assert seconds < MAX_SECONDS


@each_day
def test_every_exercise_has_visible_and_hidden_checks(day):
    for exercise in lesson(day).exercises:
        mine = [c for c in load_checks(day.topic) if c.exercise == exercise.name]
        assert sum(not c.hidden for c in mine) >= 2, exercise.name
        assert sum(c.hidden for c in mine) >= 1, exercise.name


@each_day
def test_every_check_belongs_to_an_exercise_of_the_lesson(day):
    known = {e.name for e in lesson(day).exercises}
    assert {c.exercise for c in load_checks(day.topic)} <= known


@each_day
def test_every_exercise_has_a_ladder_of_three_hints_and_the_day_ten_questions(day):
    for exercise in lesson(day).exercises:
        assert len(lesson(day).hints.get(exercise.name, ())) == 3, exercise.name
    source = day.lesson_path.read_text(encoding="utf-8")
    folded = source.count("<details>")
    assert folded >= 10, f"{folded} folded answers; ten self-check questions are due"


@pytest.mark.slow
@each_day
def test_the_solved_notebook_runs_from_top_to_bottom(day, monkeypatch):
    """In three minutes and three gigabytes, the real model included, without an error in any cell. Tests and site share the run."""
    for name, value in ONE_THREAD.items():
        monkeypatch.setenv(name, value)
    ran = executed(needed(day, READY))[day.slug]
    text, made = in_words(ran), ran.metadata["site"]
    print(f"{day.slug} solved: {made['seconds']:.0f} s, its peak {made['peak_bytes'] / 1e9:.2f} GB")
    assert "This cell waits for" not in text
    assert "Traceback" not in text
    assert made["peak_bytes"] < MAX_BYTES
    if not os.environ.get("PYTEST_XDIST_WORKER"):
        assert made["seconds"] < MAX_SECONDS
