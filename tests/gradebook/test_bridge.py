"""nbgrader's own commands store the record's scores, whatever was done to a notebook, and its pages tell no secrets."""

from __future__ import annotations

import copy
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from html.parser import HTMLParser
from pathlib import Path

import nbformat
import pytest
from nbgrader.coursedir import CourseDirectory
from traitlets.config import Config, Configurable

from autograder.checking.runner import load_checks
from autograder.gradebook.books import preprocessors
from autograder.gradebook.books.pages import NO_TEX
from autograder.gradebook.books.preprocessors import WriteVerdicts
from autograder.grading import verdict_inputs
from autograder.grading.records import read_record
from autograder.lessons import ROOT, lesson, release_notebook_path
from autograder.sandbox.process.channel import WorkerChannel
from tests.support.submissions import QUICK, SOFTMAX, Notebook, cells_of, code, hand_in, released, solved, with_cell

BIN = Path(sys.executable).parent
SLUG = SOFTMAX.slug
TOTAL = lesson(SOFTMAX).points
FIRST = lesson(SOFTMAX).exercises[0]
SCRIPT = "<script>document.title = 'taken over'</script><img src=x onerror=alert(1)>"


def forged() -> Notebook:
    notebook = solved(log_softmax=None, entropy=None)
    for cell in cells_of(notebook, "check"):
        cell["source"] = f"{TOTAL * 10}"
        cell["metadata"]["nbgrader"] |= {"points": TOTAL * 10, "locked": False, "solution": True}
        cell["outputs"] = [{"output_type": "execute_result", "data": {"text/plain": "99.0"}, "metadata": {}, "execution_count": 1}]
    first, second, third = cells_of(notebook, "check")
    first["metadata"]["nbgrader"]["grade_id"] = "mine"
    second["cell_type"] = "markdown"
    third["metadata"]["nbgrader"] = {}
    extra = {"grade": True, "solution": False, "locked": True, "schema_version": 3, "grade_id": "extra", "points": 50}
    notebook["cells"].append(code("50.0", metadata={"nbgrader": extra}))
    return notebook


def old_schema() -> Notebook:
    notebook = solved()
    for cell in notebook["cells"]:
        if "nbgrader" in cell["metadata"]:
            cell["metadata"]["nbgrader"]["schema_version"] = 1
    return notebook


def duplicated() -> Notebook:
    notebook = solved()
    for role in ("exercise", "check"):
        place = notebook["cells"].index(cells_of(notebook, role)[0])
        notebook["cells"].insert(place + 1, copy.deepcopy(notebook["cells"][place]))
    return notebook


def without(*roles: str) -> Notebook:
    notebook = solved()
    notebook["cells"] = [cell for cell in notebook["cells"] if cell["metadata"]["course"]["role"] not in roles]
    return notebook


def hostile() -> Notebook:
    notebook = solved(softmax=f"def softmax(logits):\n    raise ValueError({SCRIPT!r})")
    notebook["cells"].append({"cell_type": "markdown", "id": "m", "metadata": {}, "source": f"mine {SCRIPT}"})
    notebook["cells"].append({"cell_type": "raw", "id": "r", "metadata": {"raw_mimetype": "text/html"}, "source": SCRIPT})
    output = {"output_type": "display_data", "data": {"text/html": SCRIPT, "application/javascript": "alert(1)"}, "metadata": {}}
    notebook["cells"].append(code("1", id="verdict", outputs=[output]))
    notebook["metadata"] |= {"title": SCRIPT, "widgets": {"application/vnd.jupyter.widget-state+json": {"x": SCRIPT}}}
    return with_cell(notebook, f"raise RuntimeError({SCRIPT!r})")


SUBMISSIONS = {
    "ada_right": (solved(), TOTAL),
    "bela_blank": (released(), 0),
    "chidi_first_only": (solved(log_softmax=None, entropy=None), FIRST.points),
    "dara_forged": (forged(), FIRST.points),
    "emeka_copied": (duplicated(), TOTAL),
    "fatima_no_checks": (without("check"), TOTAL),
    "goran_nothing_left": (without("check", "exercise", "setup", "text", "demo"), 0),
    "hana_old_schema": (old_schema(), TOTAL),
    "ivan_hostile": (hostile(), TOTAL - FIRST.points),
    "jun_cut_off": (json.dumps(solved())[:2000], 0),
    "kofi_empty": ("", 0),
    "lena_binary": (bytes(range(256)), 0),
}


@pytest.fixture(scope="module")
def class_folder(tmp_path_factory) -> Path:
    """A class graded by nbgrader's own command, as an instructor would, in a folder with our nbgrader_config.py."""
    root = tmp_path_factory.mktemp("class")
    shutil.copy(ROOT / "nbgrader_config.py", root)
    for student, (content, _) in SUBMISSIONS.items():
        hand_in(root, student, content)
    (root / "submitted" / "mateo_no_file" / SLUG).mkdir(parents=True)
    nbgrader(root, "autograde", SLUG)
    nbgrader(root, "generate_feedback", SLUG)
    return root


def nbgrader(root: Path, *arguments: str, status: int = 0) -> str:
    """Runs the command with nothing on the PATH but the system's folders, as a desktop shortcut would."""
    environment = {**os.environ, "PATH": "/usr/bin:/bin"}
    done = subprocess.run([BIN / "nbgrader", *arguments], cwd=root, env=environment, capture_output=True, text=True)
    assert done.returncode == status, done.stderr[-3000:]
    return done.stderr


def booked(root: Path) -> dict[str, float]:
    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{root / 'gradebook.db'}") as gradebook:
        assignment = gradebook.find_assignment(SLUG)
        assert assignment.max_score == TOTAL
        return {s.student.id: s.score for s in assignment.submissions}


def page(root: Path, student: str) -> str:
    return (root / "feedback" / student / SLUG / f"{SLUG}.html").read_text(encoding="utf-8")


pytestmark = pytest.mark.slow


# Scores


def test_the_stock_command_stores_the_score_each_submission_deserves(class_folder):
    due = {student: score for student, (_, score) in SUBMISSIONS.items()} | {"mateo_no_file": 0}
    assert booked(class_folder) == pytest.approx(due)


def test_the_gradebook_holds_what_the_records_say_exercise_by_exercise(class_folder):
    with closing(sqlite3.connect(class_folder / "gradebook.db")) as connection:
        rows = connection.execute(
            "select submitted_assignment.student_id, base_cell.name, grade.auto_score, grade.needs_manual_grade from grade"
            " join submitted_notebook on grade.notebook_id = submitted_notebook.id"
            " join submitted_assignment on submitted_notebook.assignment_id = submitted_assignment.id"
            " join base_cell on grade.cell_id = base_cell.id"
        ).fetchall()
    assert len(rows) == (len(SUBMISSIONS) + 1) * len(lesson(SOFTMAX).exercises)
    for student, cell, score, by_hand in rows:
        record = read_record(class_folder / "records" / SLUG / f"{student}.json")
        points = next(s.points for s in record.scores if f"check_{s.exercise}" == cell)
        unread = record.problem is not None  # no score, and a person is asked
        assert (score, bool(by_hand)) == ((None, True) if unread else (points, False)), (student, cell)


def test_the_students_files_are_as_they_were(class_folder):
    for student, (content, _) in SUBMISSIONS.items():
        stored = (class_folder / "submitted" / student / SLUG / f"{SLUG}.ipynb").read_bytes()
        given = content if isinstance(content, str | bytes) else json.dumps(content)
        assert stored == (given.encode() if isinstance(given, str) else given)


def test_every_graded_notebook_has_each_grade_cell_once_as_it_was_given_out(class_folder):
    wanted = {c.metadata.nbgrader.grade_id: c for c in nbformat.read(release_notebook_path(SOFTMAX), 4).cells if "nbgrader" in c.metadata}
    for student in [*SUBMISSIONS, "mateo_no_file"]:
        notebook = nbformat.read(class_folder / "autograded" / student / SLUG / f"{SLUG}.ipynb", as_version=4)
        nbformat.validate(notebook)
        graded = [c for c in notebook.cells if c.metadata.get("nbgrader", {}).get("grade")]
        assert sorted(c.metadata.nbgrader.grade_id for c in graded) == sorted(n for n, c in wanted.items() if c.metadata.nbgrader.grade)
        for cell in graded:
            given = wanted[cell.metadata.nbgrader.grade_id]
            assert cell.source == given.source
            assert cell.metadata.nbgrader.points == given.metadata.nbgrader.points
            results = [o for o in cell.outputs if o.output_type == "execute_result"]
            assert len(results) == 1
            assert repr(float(results[0].data["text/plain"])) == results[0].data["text/plain"]
        others = [c for c in notebook.cells if c.cell_type == "code" and c not in graded]
        assert all(c.outputs == [] for c in others)


def test_grading_again_changes_nothing_and_a_new_file_is_graded_anew(class_folder, tmp_path):
    root = tmp_path / "again"
    shutil.copytree(class_folder, root)
    before = booked(root)
    record = root / "records" / SLUG / "ada_right.json"
    stamp = record.stat().st_mtime_ns
    nbgrader(root, "autograde", SLUG, "--student=ada_right", "--force")
    assert booked(root) == before
    assert record.stat().st_mtime_ns == stamp, "a fresh record was not taken"
    hand_in(root, "ada_right", released())
    nbgrader(root, "autograde", SLUG, "--student=ada_right", "--force")
    assert booked(root) == {**before, "ada_right": 0}


def test_formgraders_button_grades_too(class_folder, tmp_path):
    from nbgrader.apps.api import NbGraderAPI
    from nbgrader.coursedir import CourseDirectory

    from autograder.gradebook.books.settings import configure

    root = tmp_path / "button"
    shutil.copytree(class_folder, root)
    hand_in(root, "bela_blank", solved())
    config = Config()
    configure(config)
    config.CourseDirectory.root = str(root)
    api = NbGraderAPI(CourseDirectory(config=config), config=config)
    result = api.autograde(SLUG, "bela_blank")
    assert result["success"], result
    assert booked(root)["bela_blank"] == TOTAL
    result = api.generate_feedback(SLUG, "bela_blank")
    assert result["success"], result
    assert f"{TOTAL:g} of {TOTAL:g} points" in page(root, "bela_blank")


def test_a_score_changed_by_hand_stays_and_shows_on_the_page(class_folder, tmp_path):
    from nbgrader.api import Gradebook

    root = tmp_path / "by hand"
    shutil.copytree(class_folder, root)
    with Gradebook(f"sqlite:///{root / 'gradebook.db'}") as gradebook:
        grade = gradebook.find_grade(f"check_{FIRST.name}", SLUG, SLUG, "bela_blank")
        grade.manual_score = 1.5
        gradebook.db.commit()
    nbgrader(root, "autograde", SLUG, "--student=bela_blank", "--force")
    nbgrader(root, "generate_feedback", SLUG, "--student=bela_blank", "--force")
    assert booked(root)["bela_blank"] == 1.5
    assert "1.5 of" in page(root, "bela_blank")


def test_the_release_is_nbgraders_too_and_leaves_the_course_alone(class_folder, tmp_path):
    from autograder.lessons import build_source

    root = tmp_path / "release"
    (root / "build" / "source").mkdir(parents=True)
    shutil.copytree(build_source(SOFTMAX).parent, root / "build" / "source" / SLUG)
    shutil.copy(ROOT / "nbgrader_config.py", root)
    nbgrader(root, "generate_assignment", SLUG)
    made = (root / "build" / "release" / SLUG / f"{SLUG}.ipynb").read_bytes()
    assert made.strip() == release_notebook_path(SOFTMAX).read_bytes().strip()
    assert booked(root) == {}


def test_a_folder_that_is_no_student_is_left_out_and_the_rest_is_graded(class_folder, tmp_path):
    root = tmp_path / "odd"
    shutil.copytree(class_folder / "records", root / "records")
    shutil.copy(ROOT / "nbgrader_config.py", root)
    shutil.copytree(class_folder / "submitted" / "ada_right", root / "submitted" / "two words")
    shutil.copytree(class_folder / "submitted" / "ada_right", root / "submitted" / "ada_right")
    said = nbgrader(root, "autograde", SLUG)
    assert "not graded: 'two words'" in said
    assert "Traceback" not in said
    assert booked(root) == {"ada_right": TOTAL}


def test_an_assignment_that_is_no_day_of_ours_is_refused_in_one_line(class_folder, tmp_path):
    root = tmp_path / "exam"
    (root / "submitted" / "ada" / "exam").mkdir(parents=True)
    (root / "submitted" / "ada" / "exam" / "exam.ipynb").write_text(json.dumps(released()))
    shutil.copy(ROOT / "nbgrader_config.py", root)
    said = nbgrader(root, "autograde", "exam", status=1)
    assert "'exam' is not a day" in said
    assert "Traceback" not in said
    assert not (root / "gradebook.db").exists()


def test_a_gradebook_of_another_version_is_refused_in_one_line_and_untouched(class_folder, tmp_path):
    root = tmp_path / "old"
    shutil.copytree(class_folder, root)
    with closing(sqlite3.connect(root / "gradebook.db")) as connection, connection:
        connection.execute("update alembic_version set version_num = '0123456789ab'")
    before = (root / "gradebook.db").read_bytes()
    said = nbgrader(root, "autograde", SLUG, "--force", status=1)
    assert "schema version 0123456789ab" in said
    assert "Traceback" not in said
    assert (root / "gradebook.db").read_bytes() == before


# Pages


def test_a_page_shows_each_checks_verdict_its_message_and_how_it_was_graded(class_folder):
    text = page(class_folder, "chidi_first_only")
    for check in load_checks("softmax"):
        assert check.title.replace("'", "&#x27;") in text or check.title in text
    assert "not written yet" in text
    assert "(hidden)" in text
    assert re.search(r"Isolation level \w+, course version", text)
    assert "seed" not in text[: text.index("course version")][-200:]
    assert f"{FIRST.points:g} of {TOTAL:g} points" in text


def test_a_page_of_a_damaged_file_says_in_one_line_what_is_wrong(class_folder):
    for student, reason in (("jun_cut_off", "is not JSON"), ("kofi_empty", "is empty"), ("mateo_no_file", "is missing")):
        lines = [line for line in page(class_folder, student).splitlines() if "could not be graded" in line]
        assert len(lines) == 1
        assert reason in lines[0]


def test_no_page_and_no_graded_notebook_holds_a_hidden_checks_source(class_folder):
    hidden = (ROOT / "autograder" / "checking" / "hidden" / "test_softmax.py").read_text()
    visible = (ROOT / "autograder" / "checking" / "checks" / "test_softmax.py").read_text()
    lesson_text = release_notebook_path(SOFTMAX).read_text()
    secret = {line.strip() for line in hidden.splitlines()} - {line.strip() for line in visible.splitlines()}
    secret = {line for line in secret if len(line) > 25 and not line.startswith(('"""', "from ", "import ")) and line not in lesson_text}
    assert len(secret) > 20
    files = [path for name in ("feedback", "autograded") for path in (class_folder / name).rglob("*") if path.is_file()]
    assert {path.suffix for path in files} >= {".html", ".ipynb"}  # and pictures, where the source was built
    for path in files:
        text = path.read_text()
        found = [line for line in secret if line in text]
        assert not found, (path, found[:3])


def test_values_of_hidden_checks_are_not_shown(class_folder):
    record = read_record(class_folder / "records" / SLUG / "chidi_first_only.json")
    from autograder.gradebook.books.pages import shown

    for verdict in record.verdicts:
        if verdict.hidden:
            assert shown(verdict).expected is None
            assert shown(verdict).got is None


class Tags(HTMLParser):
    """All tags of a page with their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str]]] = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, {name: value or "" for name, value in attributes}))


def test_a_page_loads_nothing_and_runs_nothing(class_folder):
    for student in SUBMISSIONS:
        text = page(class_folder, student)
        for tag, attributes in Tags(text).found:
            assert tag not in ("script", "iframe", "object", "embed", "link", "base", "form"), student
            assert not any(name.startswith("on") for name in attributes), student
            assert all(attributes[name].startswith("data:image/") for name in ("src", "srcset") if name in attributes), student
            assert re.match(r"#|https?://|[\w./-]+\.ipynb", attributes.get("href", "#")), (student, attributes)
        assert "@import" not in text
        assert "mathjax" not in text.replace(NO_TEX, "").lower()


def test_formulas_and_figures_stand_in_the_page(class_folder):
    text = page(class_folder, "ada_right")
    assert "<math" in text
    assert "data:image/svg+xml;base64," in text
    assert "$" not in re.sub(r"<(code|pre|style)\b.*?</\1>|data:[^\"]*", "", text, flags=re.DOTALL | re.IGNORECASE)


def test_what_a_student_wrote_is_text_on_the_page(class_folder):
    text = page(class_folder, "ivan_hostile")
    assert "&lt;script&gt;document.title" in text
    assert "<script>" not in text
    graded = (class_folder / "autograded" / "ivan_hostile" / SLUG / f"{SLUG}.ipynb").read_text()
    cells = json.loads(graded)["cells"]
    assert not any("<script>" in "".join(c["source"]) for c in cells if c["cell_type"] != "code")
    assert {c["cell_type"] for c in cells} == {"code", "markdown"}


# Many at once


def test_a_worker_that_is_killed_from_outside_is_no_zero_under_nbgrader_either(tmp_path, monkeypatch):
    hand_in(tmp_path, "ada", solved())
    converter = type("Converter", (Configurable,), {"coursedir": CourseDirectory(root=str(tmp_path))})()
    step = WriteVerdicts(parent=Configurable(parent=converter))
    preprocessors._canaries(SLUG, 0, verdict_inputs.of_day(SOFTMAX))
    real, requests = WorkerChannel.request, []

    def request(self, *arguments, **more):
        requests.append(self.pid)
        if len(requests) == 10:
            os.kill(self.pid, signal.SIGKILL)
        return real(self, *arguments, **more)

    monkeypatch.setattr(WorkerChannel, "request", request)
    record = step.record("ada", SLUG)
    assert len(set(requests)) >= 2
    assert (record.points, record.crashed) == (TOTAL, False)


def test_a_class_in_bulk_gets_the_same_scores_as_by_the_command(class_folder, tmp_path):
    from autograder.gradebook.books.bulk import ClassFolder, booked_scores, store
    from autograder.grading.run import grade_all
    from autograder.grading.tasks import find_tasks

    shutil.copytree(class_folder / "submitted", tmp_path / "submitted")
    (tmp_path / "submitted" / "ada_right" / SLUG / "timestamp.txt").write_text("the day before yesterday")
    folder = ClassFolder.of(tmp_path / "submitted")
    tasks = list(find_tasks(folder.submitted, [SOFTMAX]))
    grade_all(tasks, QUICK, folder.records)
    seen: list[str] = []
    assert store(folder, tasks, seen.append) == {}
    assert sorted(seen) == sorted(t.student for t in tasks)
    assert {student: score for (student, _), score in booked_scores(folder, [SOFTMAX]).items()} == booked(class_folder)


def test_the_day_is_entered_once_and_its_points_follow_the_lesson(tmp_path, monkeypatch):
    from nbgrader.api import Gradebook

    from autograder.gradebook.books import gradebook

    url = gradebook.gradebook_url(tmp_path / "gradebook.db")
    calls: list[str] = []
    real = gradebook.release_bytes
    monkeypatch.setattr(gradebook, "release_bytes", lambda day, db_url, desk: calls.append(day.slug) or real(day, db_url, desk))
    gradebook.enter_day(SOFTMAX, url)
    start = time.process_time()
    gradebook.enter_day(SOFTMAX, url)
    assert calls == [SLUG]
    assert time.process_time() - start < 2.0
    with Gradebook(url) as book:
        book.find_grade_cell(f"check_{FIRST.name}", SLUG, SLUG).max_score = 99
        book.db.commit()
    gradebook.enter_day(SOFTMAX, url)
    assert calls == [SLUG, SLUG]
    with Gradebook(url) as book:
        assert book.find_assignment(SLUG).max_score == TOTAL
