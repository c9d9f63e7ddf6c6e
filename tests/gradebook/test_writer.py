"""The bulk writer stores what nbgrader's own converters store: the same rows, the same graded notebooks."""

from __future__ import annotations

import datetime
import json
import shutil
import sqlite3
import threading
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import nbformat
import pytest
import sqlalchemy

from autograder.gradebook.books.bulk import ClassFolder, booked_scores, store, write_feedback
from autograder.gradebook.books.reading import put_beside
from autograder.gradebook.books.writer import Writer, WriterThread
from autograder.gradebook.policy.timestamps import submitted_at
from autograder.grading.run import grade_all
from autograder.grading.tasks import find_tasks
from tests.gradebook.test_bridge import duplicated, forged, hostile, old_schema, without
from tests.support.submissions import QUICK, SOFTMAX, cells_of, hand_in, released, solved, with_cell

SLUG = SOFTMAX.slug
CLASS = {
    "ada": solved(),
    "bela": released(),
    "chidi": solved(log_softmax=None, entropy=None),
    "dara": forged(),
    "emeka": duplicated(),
    "fatima": without("check"),
    "goran": without("check", "exercise", "setup", "text", "demo"),
    "hana": old_schema(),
    "ivan": hostile(),
    "jun": json.dumps(solved())[:2000],
    "kofi": "",
    "lena": bytes(range(256)),
    "mateo": with_cell(solved(), "import os\nos._exit(0)"),
}
ROWS = {
    "student": "select * from student order by id",
    "submitted_assignment": "select student_id, name, timestamp, extension from submitted_assignment"
    " join assignment on assignment.id = submitted_assignment.assignment_id order by 1, 2",
    "submitted_notebook": "select student_id, notebook.name, flagged, late_submission_penalty from submitted_notebook"
    " join submitted_assignment on submitted_assignment.id = submitted_notebook.assignment_id"
    " join notebook on notebook.id = submitted_notebook.notebook_id order by 1, 2",
    "grade": "select student_id, base_cell.name, auto_score, manual_score, extra_credit, needs_manual_grade from grade"
    " join base_cell on base_cell.id = grade.cell_id join submitted_notebook on submitted_notebook.id = grade.notebook_id"
    " join submitted_assignment on submitted_assignment.id = submitted_notebook.assignment_id order by 1, 2",
    "comment": "select student_id, base_cell.name, auto_comment, manual_comment from comment"
    " join base_cell on base_cell.id = comment.cell_id join submitted_notebook on submitted_notebook.id = comment.notebook_id"
    " join submitted_assignment on submitted_assignment.id = submitted_notebook.assignment_id order by 1, 2",
    "assignment": "select name, duedate, course_id from assignment",
    "source_cell": "select name, cell_type, locked, source, checksum from source_cell order by name",
}

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def both(tmp_path_factory) -> tuple[ClassFolder, ClassFolder]:
    """The same class, graded once, stored by nbgrader and by the writer."""
    roots = [tmp_path_factory.mktemp("nbgrader"), tmp_path_factory.mktemp("bulk")]
    for student, content in CLASS.items():
        hand_in(roots[0], student, content)
    for name, text in (("ada", "2026-03-01 12:00:00 UTC"), ("bela", "2026-03-01 12:00:00.5 +0100"), ("chidi", "yesterday"), ("dara", "")):
        (roots[0] / "submitted" / name / SLUG / "timestamp.txt").write_text(text)
    (roots[0] / "submitted" / "ada" / SLUG / "notes").mkdir()
    (roots[0] / "submitted" / "ada" / SLUG / "notes" / "plan.txt").write_text("by hand")
    for name in ("page.html", ".page.html", "figure.svg", "page.xhtml", "page.js"):
        (roots[0] / "submitted" / "ada" / SLUG / name).write_text("<script>alert(1)</script>")
    (roots[0] / "submitted" / "nadia" / SLUG).mkdir(parents=True)
    folders = [ClassFolder.of(root / "submitted") for root in roots]
    grade_all(find_tasks(folders[0].submitted, [SOFTMAX]), QUICK, folders[0].records)
    for name in ("submitted", "records"):
        shutil.copytree(roots[0] / name, roots[1] / name)
    assert store(folders[0], find_tasks(folders[0].submitted, [SOFTMAX])) == {}
    written(folders[1])
    return folders[0], folders[1]


def written(folder: ClassFolder) -> None:
    from autograder.grading.records import read_record, record_path

    with WriterThread(folder) as writer:
        for task in find_tasks(folder.submitted, [SOFTMAX]):
            writer.put(task, read_record(record_path(folder.records, task.student, SLUG)))
    assert writer.failures == {}


def rows(folder: ClassFolder) -> dict[str, list[Any]]:
    with closing(sqlite3.connect(folder.root / "gradebook.db")) as connection:
        return {name: connection.execute(query).fetchall() for name, query in ROWS.items()}


def notebooks(folder: ClassFolder) -> dict[str, Any]:
    """Every graded notebook; the ids of cells that were put back are drawn anew each time."""
    found = {}
    for path in sorted(folder.autograded.rglob("*.ipynb")):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        nbformat.validate(nbformat.read(path, as_version=4))
        for cell in notebook["cells"]:
            if "missing" in cell["metadata"].get("course", {}).get("note", ""):
                cell["id"] = "drawn"
        found[str(path.relative_to(folder.autograded))] = notebook
    return found


def test_both_gradebooks_hold_the_same_row_by_row(both):
    ours, theirs = rows(both[1]), rows(both[0])
    assert len(theirs["grade"]) == (len(CLASS) + 1) * len(cells_of(released(), "check"))
    assert any(row[2] == "No response." for row in theirs["comment"])
    assert any(row[2] is not None for row in theirs["submitted_assignment"])
    for name in ROWS:
        assert ours[name] == theirs[name], name


def test_both_write_the_same_notebooks_and_files(both):
    ours, theirs = notebooks(both[1]), notebooks(both[0])
    assert ours.keys() == theirs.keys()
    for name in theirs:
        assert ours[name] == theirs[name], name
    files = [{str(p.relative_to(f.autograded)): p.read_bytes() for p in f.autograded.rglob("*.txt")} for f in both]
    assert files[0] == files[1]
    assert len(files[0]) == 2  # the times that are times
    modes = [{str(p.relative_to(f.autograded)): p.stat().st_mode for p in f.autograded.rglob("*") if p.is_file()} for f in both]
    assert modes[0] == modes[1]


def test_storing_again_changes_nothing_and_a_score_given_by_hand_stays(both, tmp_path):
    from nbgrader.api import Gradebook

    shutil.copytree(both[1].root, tmp_path / "again")
    folder = ClassFolder.of(tmp_path / "again" / "submitted")
    before = rows(folder)
    written(folder)
    assert rows(folder) == before
    grade = f"check_{cells_of(released(), 'check')[0]['metadata']['course']['exercise']}"
    with Gradebook(folder.db_url) as gradebook:
        gradebook.find_grade(grade, SLUG, SLUG, "bela").manual_score = 1.5
        gradebook.db.commit()
    written(folder)
    assert booked_scores(folder, [SOFTMAX])["bela", SLUG] == 1.5
    assert next(row for row in rows(folder)["grade"] if row[0] == "bela" and row[3] is not None)[5] == 1, "it must be looked at again"


def test_feedback_is_made_from_what_the_writer_wrote(both):
    assert write_feedback(both[1], SOFTMAX) == {}
    assert len(list(both[1].feedback.rglob("*.html"))) == len(CLASS) + 1


def test_one_that_cannot_be_stored_is_named_and_the_others_are(both, tmp_path, monkeypatch):
    shutil.copytree(both[1].root, tmp_path / "one")
    folder = ClassFolder.of(tmp_path / "one" / "submitted")
    real = Writer.write_files

    def full_disk(self, task, notebook):
        if task.student == "bela":
            raise OSError(28, "No space left on device")
        real(self, task, notebook)

    monkeypatch.setattr(Writer, "write_files", full_disk)
    tasks = {task.student: task for task in find_tasks(folder.submitted, [SOFTMAX])}
    from autograder.grading.records import read_record, record_path

    with WriterThread(folder) as writer:
        for name in ("ada", "bela", "chidi"):
            writer.put(tasks[name], read_record(record_path(folder.records, name, SLUG)))
    assert list(writer.failures) == [("bela", SLUG)]
    assert "No space left" in writer.failures["bela", SLUG]


def test_what_else_was_handed_in_stays_where_it_is(both):
    """A page, a picture or a hidden file among it would be opened with an instructor's rights."""
    for folder in both:
        assert (folder.submitted / "ada" / SLUG / "page.html").exists()
        there = folder.autograded / "ada" / SLUG
        names = {path.relative_to(there).as_posix() for path in there.rglob("*") if path.is_file()}
        ours = {f"figures/{path.name}" for path in (SOFTMAX.folder / "figures").glob("*.svg")}
        assert ours
        assert names == ours | {f"{SLUG}.ipynb", "timestamp.txt"}
        assert {(there / name).stat().st_mode & 0o777 for name in names} == {0o444}


def test_a_mark_needs_no_figure_beside_it(tmp_path):
    """A day without figures, in a folder that nobody has made: as a graded folder is before its notebook."""
    source, target = tmp_path / "submitted", tmp_path / "autograded" / "ada" / SLUG
    source.mkdir()
    (source / "timestamp.txt").write_text("2026-03-01 12:00:00 UTC")
    (source / "submission_secret.txt").write_text("ab12")
    put_beside(replace(SOFTMAX, root=tmp_path), source, target)
    assert {path.name: path.read_text() for path in target.iterdir()} == {
        "timestamp.txt": "2026-03-01 12:00:00 UTC", "submission_secret.txt": "ab12",
    }  # fmt: skip


def test_a_time_behind_a_link_is_no_time(tmp_path):
    (tmp_path / "secret.txt").write_text("2026-03-01 12:00:00 UTC")
    (tmp_path / "timestamp.txt").symlink_to(tmp_path / "secret.txt")
    assert submitted_at(tmp_path) is None
    assert submitted_at(Path("nowhere")) is None


@pytest.mark.parametrize("text", [
    "2026-03-01 12:00:00 /dev/zero", "2026-03-01 12:00:00 :/dev/zero", "2026-03-01 12:00:00 ../../x", "2026-03-01 12:00:00 \x00", "9" * 999,
    "99999-99-99 99:99:99 UTC", "", "yesterday",
])  # fmt: skip
def test_what_is_no_time_opens_no_file_and_raises_nothing(text, tmp_path, monkeypatch):
    monkeypatch.setattr("dateutil.tz.tzfile", lambda *arguments: pytest.fail("a file was opened"))
    (tmp_path / "timestamp.txt").write_text(text)
    assert submitted_at(tmp_path) is None


@pytest.mark.parametrize("text", [
    "2026-03-01 12:00:00 UTC", "2026-03-01 12:00:00.000000 UTC\n", "2026-03-01 13:00:00 Europe/Berlin", "2026-03-01 13:00 +0100",
    "2026-03-01T13:00:00+01:00", "2026-03-01 12:00:00",
])  # fmt: skip
def test_each_form_of_a_time_is_read_in_utc(text, tmp_path):
    (tmp_path / "timestamp.txt").write_text(text)
    assert submitted_at(tmp_path) == datetime.datetime(2026, 3, 1, 12)


# A gradebook that goes away


class Gone(Writer):
    """A database that stops answering after the first submission; `freezes`: without a word."""

    freezes = False
    tried = 0

    def store(self, task, record):
        type(self).tried += 1
        if type(self).tried > 1:
            if self.freezes:
                threading.Event().wait()
            raise sqlalchemy.exc.OperationalError("insert", {}, Exception("server closed the connection"))


@pytest.fixture
def gone(monkeypatch):
    monkeypatch.setattr(Gone, "tried", 0)
    monkeypatch.setattr(Gone, "freezes", False)
    monkeypatch.setattr("autograder.gradebook.books.writer.Writer", Gone)
    return Gone


def some_records(root: Path, number: int) -> list[tuple[Any, Any]]:
    tasks = [hand_in(root, f"s{n}", "{") for n in range(number)]
    return list(zip(tasks, grade_all(tasks, QUICK, root / "records"), strict=True))


def test_a_gradebook_that_is_gone_is_reported_for_each_and_not_sought_for_ever(gone, tmp_path):
    seen: list[str] = []
    with WriterThread(ClassFolder.of(tmp_path / "submitted"), seen.append) as writer:
        for task, record in some_records(tmp_path, 10):
            writer.put(task, record)
    assert set(writer.failures) == {(f"s{n}", SLUG) for n in range(1, 10)}
    assert sum("--resume" in reason for reason in writer.failures.values()) == 6
    assert gone.tried == 1 + 2 * 3
    assert len(seen) == 10


def test_a_gradebook_that_neither_answers_nor_refuses_is_not_waited_for(gone, tmp_path, monkeypatch):
    monkeypatch.setattr("autograder.gradebook.books.writer.PATIENCE_SECONDS", 1.0)
    gone.freezes = True
    with WriterThread(ClassFolder.of(tmp_path / "submitted")) as writer:
        for task, record in some_records(tmp_path, 3):
            writer.put(task, record)
    assert set(writer.failures) == {("s1", SLUG), ("s2", SLUG)}


def test_a_connection_that_is_cut_is_made_anew(both, tmp_path, monkeypatch):
    """The database is there, the connection is not: nobody's score is lost."""
    folder = ClassFolder.of(tmp_path / "submitted")
    shutil.copytree(both[1].submitted, folder.submitted)
    shutil.copytree(both[1].records, folder.records)
    stock, cut = Writer.write_rows, []

    def write_rows(connection, *rest):
        if len(cut) % 2 == 0:
            cut.append(1)
            raise sqlalchemy.exc.OperationalError("insert", {}, Exception("connection reset"), connection_invalidated=True)
        cut.append(1)
        stock(connection, *rest)

    monkeypatch.setattr(Writer, "write_rows", staticmethod(write_rows))
    tasks = list(find_tasks(folder.submitted, [SOFTMAX]))
    from autograder.grading.records import read_record, record_path

    with WriterThread(folder) as writer:
        for task in tasks:
            writer.put(task, read_record(record_path(folder.records, task.student, SLUG)))
    assert writer.failures == {}
    assert booked_scores(folder, [SOFTMAX]) == booked_scores(both[1], [SOFTMAX])
