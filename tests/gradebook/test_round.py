"""A whole round in one command: five steps, nothing twice, and where it stopped it goes on."""

from __future__ import annotations

import contextlib
import csv
import datetime
import errno
import functools
import json
import os
import pydoc
import re
import shutil
import sqlite3
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy
from typer.testing import CliRunner, Result

from autograder.base.errors import CourseError, InfrastructureFault
from autograder.cli import app
from autograder.gradebook.books import bulk, feedback
from autograder.gradebook.books.bulk import ClassFolder
from autograder.gradebook.policy.deadlines import set_due
from autograder.gradebook.policy.late import parse_rule, set_rule
from autograder.gradebook.results import automatic_scores, booked, class_results
from autograder.grading.records import read_record, read_records

from ..repository.test_startup import SCRIPT
from ..support.graded_class import TOTAL, WRONG, correct_by_hand
from ..support.submissions import SOFTMAX, hand_in, solved, with_cell

SLUG = SOFTMAX.slug
NAMES = ("collect", "grade", "report", "feedback", "export")

pytestmark = pytest.mark.slow


def run(root: Path, *arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["round", "day01", *map(str, arguments), "--submitted", str(root / "submitted")])


def files(root: Path) -> dict[Path, tuple[int, bytes]]:
    """Every file of the class that a round can have written, with its time."""
    found = (path for path in root.rglob("*") if path.is_file() and path.name not in (".lock", "gradebook.db"))
    return {path.relative_to(root): (path.stat().st_mtime_ns, path.read_bytes()) for path in found}


def steps(result: Result) -> dict[str, str]:
    """{step: what it said}."""
    lines = [line.split(": ", 1) for line in result.stdout.splitlines() if " of 5, " in line]
    return {head.split(", ")[1]: said for head, said in lines}


CANVAS, MOODLE = "{student}_{number}_9{number}_{slug}.ipynb", "{student} Byron_{number}_assignsubmission_file_/{slug}.ipynb"


def download(path: Path, member: str = CANVAS, **answers: dict) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for number, (student, notebook) in enumerate(answers.items(), start=101):
            archive.writestr(member.format(student=student, number=number, slug=SLUG), json.dumps(notebook))
    return path


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    """A class of two after a first round."""
    root = tmp_path_factory.mktemp("round")
    source = download(root / "a.zip", ada=solved(), bob=solved(softmax=WRONG))
    return root, run(root, source, "--from", "canvas", "--to", "canvas")


def copy(done: tuple[Path, Result], root: Path) -> Path:
    shutil.copytree(done[0], root, dirs_exist_ok=True)
    return root


def test_a_round_does_all_five_steps_with_a_line_each(done):
    root, result = done
    assert result.exit_code == 0, result.output
    assert tuple(steps(result)) == NAMES
    assert steps(result)["collect"] == "2 files: new 2"
    assert steps(result)["grade"].endswith("2 graded now, 0 unchanged")
    assert booked(ClassFolder.of(root / "submitted").db_url, SOFTMAX).keys() == {"ada_101", "bob_102"}
    for path in ("report/index.html", f"feedback/ada_101/{SLUG}/{SLUG}.html", "exports/canvas.csv"):
        assert (root / path).exists(), path
    with (root / "exports" / "canvas.csv").open(newline="") as file:
        assert [row[-1] for row in csv.reader(file)][2] == f"{TOTAL:g}"


def test_run_again_it_does_nothing_and_needs_no_torch(done):
    root, _ = done
    before = files(root)
    arguments = ["round", "day01", str(root / "a.zip"), "--from", "canvas", "--to", "canvas", "--submitted", str(root / "submitted")]
    again = subprocess.run(
        [sys.executable, "-c", SCRIPT, json.dumps([arguments])], cwd=root, capture_output=True, text=True,
        env={**os.environ, "COURSE_WORK": str(root / "work")},
    )  # fmt: skip
    assert again.returncode == 0, again.stdout + again.stderr
    assert again.stdout.count("nothing new; the last result: ") == 5
    assert {path: content for path, content in files(root).items() if path.parts[0] != "work"} == before


def test_a_new_hand_in_is_graded_alone_and_reported_everywhere(done, tmp_path):
    root = copy(done, tmp_path)
    before = files(root)
    more = download(root / "b.zip", ada=solved(), bob=solved(softmax=WRONG), cy=solved(entropy=None))
    result = run(root, more, "--from", "canvas", "--to", "canvas")
    assert result.exit_code == 0, result.output
    assert steps(result)["collect"] == "3 files: new 1, unchanged 2"
    assert steps(result)["grade"].endswith("1 graded now, 2 unchanged")
    after = files(root)
    for path in (Path("records") / SLUG / "ada_101.json", Path("autograded") / "ada_101" / SLUG / f"{SLUG}.ipynb"):
        assert after[path] == before[path], path
    assert b"cy_103" in after[Path("report/index.html")][1]
    assert Path(f"feedback/cy_103/{SLUG}/{SLUG}.html") in after


def test_a_correction_by_hand_is_reported_and_nothing_is_graded(done, tmp_path):
    root = copy(done, tmp_path)
    folder = ClassFolder.of(root / "submitted")
    correct_by_hand(folder, "bob_102", "softmax", 3.5)
    result = run(root, root / "a.zip", "--from", "canvas", "--to", "canvas")
    said = steps(result)
    assert [name for name in NAMES if not said[name].startswith("nothing new")] == ["report", "feedback", "export"]
    assert "softmax</a>: 3.5 of" in (root / "feedback" / "bob_102" / SLUG / f"{SLUG}.html").read_text()


def test_a_penalty_for_lateness_stays_when_somebody_else_hands_in(done, tmp_path):
    from nbgrader.api import Gradebook

    root = copy(done, tmp_path)
    folder = ClassFolder.of(root / "submitted")
    with Gradebook(folder.db_url) as gradebook:
        gradebook.find_submission(SLUG, "bob_102").notebooks[0].late_submission_penalty = 0.5
        gradebook.db.commit()
    hand_in(root, "cy", solved())
    assert run(root).exit_code == 0
    assert booked(folder.db_url, SOFTMAX)["bob_102"].penalty == 0.5
    assert "cy" in automatic_scores(folder.db_url, SOFTMAX)


@pytest.fixture(scope="module")
def from_moodle(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    """A class of two from Moodle, collected five days after the due date, with a rule for late work."""
    root = tmp_path_factory.mktemp("moodle")
    source = download(root / "a.zip", MOODLE, Ada=solved(), Bob=solved(softmax=WRONG))
    (root / "submitted").mkdir()
    set_due(root, SOFTMAX, datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=5))
    set_rule(root, parse_rule("10% a day"))
    return root, run(root, source, "--from", "moodle", "--to", "moodle")


def moodle_grades(root: Path) -> dict[str, float]:
    with (root / "exports" / f"moodle_{SLUG}.csv").open(encoding="utf-8-sig", newline="") as file:
        return {row["Full name"]: float(row["Grade"]) for row in csv.DictReader(file)}


def test_a_moodle_class_that_is_collected_late_loses_no_points(from_moodle):
    """Moodle's downloads have no time of submission, and the time of collecting is not the students'."""
    root, result = from_moodle
    assert result.exit_code == 1, result.output
    assert "the time of submission is unknown, so nobody is marked late" in result.output
    earned = {record.student: record.points for record in read_records(root / "records", SLUG)}
    assert TOTAL in earned.values()
    assert sorted(moodle_grades(root).values()) == sorted(earned.values())
    assert not any(found.penalty for found in booked(ClassFolder.of(root / "submitted").db_url, SOFTMAX).values())
    assert "the time of submission is unknown" in (root / "report" / "index.html").read_text(encoding="utf-8")


def test_a_time_given_for_a_moodle_download_costs_what_the_rule_says(from_moodle, tmp_path):
    root = copy(from_moodle, tmp_path)
    at = datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=3, hours=1)  # the second day has begun
    result = run(root, root / "a.zip", "--from", "moodle", "--to", "moodle", "--at", at.isoformat())
    assert result.exit_code == 0, result.output
    earned = sorted(record.points for record in read_records(root / "records", SLUG))
    assert sorted(moodle_grades(root).values()) == pytest.approx([0.8 * score for score in earned])


def test_a_page_that_cannot_be_made_is_named_and_the_round_goes_on(done, tmp_path, monkeypatch):
    root = copy(done, tmp_path)
    hand_in(root, "cy", solved())
    real = bulk.write_feedback
    monkeypatch.setattr(bulk, "write_feedback", lambda folder, day, progress=None: {("cy", day.slug): "no room on the disk"})
    first = run(root)
    assert first.exit_code == 1
    assert "no page: cy: no room on the disk" in first.output
    assert "cy," in (root / "exports" / "scores.csv").read_text()
    monkeypatch.setattr(bulk, "write_feedback", real)
    said = steps(run(root))
    assert [said[name].startswith("nothing new") for name in NAMES] == [True, True, True, False, True]


PASTED = {"cell_type": "markdown", "id": "pic", "metadata": {}, "source": "My plot: ![image.png](attachment:image.png)",
          "attachments": {"image.png": {"image/png": "iVBORw0KGgo="}}}  # fmt: skip
HALF = 'def softmax(logits):\n    raise ValueError("\\udcff")\n'


def test_neither_a_pasted_picture_nor_half_a_character_keeps_a_class_from_its_pages(tmp_path):
    """A student who pastes a picture, one whose exception has half a surrogate pair, and one who has it in the notebook itself."""
    root = tmp_path
    hand_in(root, "ada", solved())
    pasted, half, raw = solved(), solved(softmax=HALF), solved()
    pasted["cells"].append(PASTED)
    raw["cells"].append({"cell_type": "markdown", "id": "raw", "metadata": {}, "source": "so: \udcff"})
    for student, notebook in (("pia", pasted), ("hal", half), ("raw", raw)):
        hand_in(root, student, notebook)
    result = run(root, "--to", "gradescope")
    assert result.exit_code == 0, result.output
    book = automatic_scores(ClassFolder.of(root / "submitted").db_url, SOFTMAX)
    scores = {name: sum(of_exercises.values()) for name, of_exercises in book.items()}
    assert scores.keys() == {"ada", "pia", "hal", "raw"}
    assert scores["ada"] == scores["pia"] == scores["raw"] == TOTAL > scores["hal"]
    page = {name: (root / "feedback" / name / SLUG / f"{SLUG}.html").read_text(encoding="utf-8") for name in scores}
    assert "attachment:image.png" in page["pia"]
    assert r"ValueError: \udcff" in page["hal"]
    assert (root / "report" / "index.html").exists()
    for name in scores:
        found = json.loads((root / "exports" / "gradescope" / SLUG / name / "results.json").read_bytes())
        assert sum(each["score"] for each in found["tests"]) == pytest.approx(scores[name], abs=0.001)


def test_a_changed_helper_of_the_checks_makes_a_round_grade_again(done, tmp_path, monkeypatch):
    root = copy(done, tmp_path)
    monkeypatch.setattr("autograder.grading.verdict_inputs.of_day", lambda day: "a helper has changed")
    assert steps(run(root))["grade"].endswith("2 graded now, 0 unchanged")
    assert steps(run(root))["grade"].startswith("nothing new")


def test_a_disk_that_refuses_stops_the_round(done, tmp_path):
    root = copy(done, tmp_path)
    hand_in(root, "cy", solved())
    (root / "exports" / "scores.csv").mkdir()
    with pytest.raises(InfrastructureFault, match=r"the round stopped at export: .*scores.csv: "):
        run(root)
    (root / "exports" / "scores.csv").rmdir()
    assert run(root).exit_code == 0
    assert (root / "exports" / "scores.csv").is_file()


def test_what_a_killed_round_left_is_not_graded_again(done, tmp_path):
    root = copy(done, tmp_path)
    (root / "rounds" / f"{SLUG}.json").unlink()  # killed before it could note anything
    before = files(root)
    result = run(root, root / "a.zip", "--from", "canvas", "--to", "canvas")
    assert steps(result)["collect"] == "2 files: new 0, unchanged 2"
    assert steps(result)["grade"].endswith("0 graded now, 2 unchanged")
    after = files(root)
    assert all(after[path] == content for path, content in before.items() if path.parts[0] in ("records", "autograded", "submitted"))


def test_a_record_without_its_rows_is_stored(done, tmp_path):
    root = copy(done, tmp_path)
    (root / "gradebook.db").unlink()  # or killed between the record and the gradebook
    (root / "rounds" / f"{SLUG}.json").unlink()
    assert steps(run(root))["grade"].endswith("0 graded now, 2 unchanged")
    assert booked(ClassFolder.of(root / "submitted").db_url, SOFTMAX).keys() == {"ada_101", "bob_102"}


def test_what_was_made_and_is_gone_is_made_again(done, tmp_path):
    root = copy(done, tmp_path)
    page = root / "feedback" / "ada_101" / SLUG / f"{SLUG}.html"
    page.unlink()
    said = steps(run(root, root / "a.zip", "--from", "canvas", "--to", "canvas"))
    assert page.exists()
    assert said["grade"].startswith("nothing new")


def test_what_is_for_a_person_stops_nothing_and_is_reported_each_time(tmp_path):
    source = download(tmp_path / "a.zip", ada=solved())
    with zipfile.ZipFile(source, "a") as archive:
        archive.writestr("essay.pdf", b"%PDF")
        archive.writestr(f"cut_102_9102_{SLUG}.ipynb", b"{")
    for _ in range(2):
        result = run(tmp_path, source, "--from", "canvas")
        assert result.exit_code == 1
        assert tuple(steps(result)) == NAMES
        assert "essay.pdf" in result.stderr
        assert "unreadable: cut_102" in result.stderr
    assert len(class_results(ClassFolder.of(tmp_path / "submitted"), [SOFTMAX]).results) == 2


@pytest.mark.skipif(sys.platform != "linux", reason="the disk takes names in UTF-8 only")
def test_a_name_that_is_not_utf_8_is_one_line_and_the_others_are_graded(done, tmp_path):
    odd = os.fsdecode(b"caf\xe9")
    root = copy(done, tmp_path / odd)
    source = root / odd
    for name in ("ada_101.ipynb", f"bob_102/{odd}.ipynb", f"{odd}.ipynb"):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(json.dumps(solved()))
    shutil.copy(source / "ada_101.ipynb", root / f"cy_103_9103_{odd}.ipynb")
    for _ in range(2):
        result = run(root, source, root / f"cy_103_9103_{odd}.ipynb")
        assert result.exit_code == 1, result.output
        assert tuple(steps(result)) == NAMES
        assert steps(result)["collect"].startswith("4 files: ")
        assert steps(result)["collect"].endswith("left out 3")
        assert result.stderr.count("a name that is not UTF-8: rename the file") == 3
    notes = json.loads((root / "collected.json").read_text(encoding="utf-8"))["submissions"]
    assert notes[f"ada_101/{SLUG}"]["sha256"]
    assert "ada_101" in (root / "exports" / "scores.csv").read_text()


def test_nothing_handed_in_is_one_line(tmp_path):
    (tmp_path / "submitted").mkdir()
    result = run(tmp_path)
    assert result.exit_code == 1
    assert "the round stopped at grade: no submission under" in str(result.exception)
    assert "Finished steps: collect." in str(result.exception)


def test_a_due_date_set_between_two_rounds_is_in_the_report(done, tmp_path):
    root = copy(done, tmp_path)
    set_due(root, SOFTMAX, datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC))
    said = steps(run(root))
    assert not said["report"].startswith("nothing new")
    # Canvas's word, in time, stands above the clock.
    assert "late by" not in (root / "report" / "index.html").read_text()


# One failure of every stage, in a class of six


SIX = frozenset({"ada", "bob", "cy", "dan", "eli", "flo"})
MARK = "by flo"
MADE_LATER = ("feedback", "report", "exports")
AGAIN = "run the same command again"
Inject = Callable[[pytest.MonkeyPatch, Path], None]


@pytest.fixture(scope="module")
def six(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A class of six after a first round."""
    root = tmp_path_factory.mktemp("six")
    for student in SIX:
        notebook = solved()
        if student == "flo":
            notebook["cells"].append({"cell_type": "markdown", "id": "flo", "metadata": {}, "source": f"{MARK}: $x^2$"})
            with_cell(notebook, f"# {MARK}")
        hand_in(root, student, notebook)
    result = run(root)
    assert result.exit_code == 0, result.output
    assert served(root) == SIX
    return root


def served(root: Path) -> set[str]:
    """The students who have a record, a score in the gradebook, a page and a row in the export."""
    with (root / "exports" / "scores.csv").open(newline="") as file:
        rows = {row["student"] for row in csv.DictReader(file)}
    books = booked(ClassFolder.of(root / "submitted").db_url, SOFTMAX)
    in_books = {name for name, book in books.items() if sum(book.scores.values()) == TOTAL}
    pages = {path.parents[1].name for path in (root / "feedback").glob(f"*/{SLUG}/{SLUG}.html")}
    records = set()
    for path in (root / "records" / SLUG).glob("*.json"):
        with contextlib.suppress(CourseError):
            records |= {path.stem} if read_record(path).infrastructure is None else set()
    return records & in_books & pages & rows


def raised(place: str, of_flo: Callable[..., bool], error: Exception) -> Inject:
    """A function that raises where it is called for flo."""

    def inject(patch: pytest.MonkeyPatch, root: Path) -> None:
        real = pydoc.locate(place)

        def fails(*arguments: Any, **options: Any) -> Any:
            if of_flo(*arguments):
                raise error
            return real(*arguments, **options)

        patch.setattr(place, fails)

    return inject


def locked(place: str, of_flo: Callable[..., bool]) -> Inject:
    """Another program holds the gradebook while this function is called for flo, and lets it go then."""

    def inject(patch: pytest.MonkeyPatch, root: Path) -> None:
        real = pydoc.locate(place)

        def fails(*arguments: Any) -> Any:
            if not of_flo(*arguments):
                return real(*arguments)
            with contextlib.closing(sqlite3.connect(root / "gradebook.db", isolation_level=None)) as other:
                other.execute("begin exclusive")
                return real(*arguments)

        patch.setattr(place, fails)
        patch.setattr("autograder.gradebook.books.writer.patience", lambda db_url: {"timeout": 0.1})
        patch.setattr("nbgrader.api.create_engine", functools.partial(sqlalchemy.create_engine, connect_args={"timeout": 0.1}))

    return inject


def damaged(patch: pytest.MonkeyPatch, root: Path) -> None:
    path = root / "records" / SLUG / "flo.json"
    path.write_bytes(path.read_bytes()[:100])


BOOKS = "autograder.gradebook.books"
FULL = OSError(errno.ENOSPC, "No space left on device")
NOBODY_FORESAW = ZeroDivisionError("nobody foresaw it")
FOREIGN = RuntimeError("no such font")


def marked(text: str, *ignored: Any) -> bool:
    return MARK in text


FAILURES: dict[str, tuple[Inject, str]] = {
    "grading": (raised("autograder.grading.grade.grade_file", lambda task, *_: task.student == "flo", NOBODY_FORESAW),
                f"needs a person: flo: ZeroDivisionError: nobody foresaw it: .*{AGAIN}"),
    "full_disk_record": (raised("autograder.grading.records.write_whole", lambda path, *_: path.stem == "flo", FULL),
                         f"needs a person: flo: its record cannot be written: No space left on device: .*{AGAIN}"),
    "full_disk_notebook": (raised(f"{BOOKS}.writer.write_whole", lambda path, *_: "flo" in path.parts, FULL),
                           f"not in the gradebook: flo: OSError: .*No space left on device: .*{AGAIN}"),
    "locked_gradebook": (locked(f"{BOOKS}.writer.Writer.store", lambda _, task, *__: task.student == "flo"),
                         f"not in the gradebook: flo: .*in use by another program: .*{AGAIN}"),
    "no_rows": (raised(f"{BOOKS}.writer.Writer.write_files", lambda _, task, *__: task.student == "flo", NOBODY_FORESAW),
                f"not in the gradebook: flo: ZeroDivisionError: .*{AGAIN}"),
    "no_result": (raised("autograder.gradebook.results._result", lambda record, *_: record.student == "flo", NOBODY_FORESAW),
                  "flo.json: a record without a result .*ZeroDivisionError.*: delete it and grade again"),
    "damaged_record": (damaged, "flo.json: a damaged record .*: delete it and grade again"),
    "text": (raised(f"{BOOKS}.grading_pages.rendered", marked, FOREIGN), f"no page: flo: RuntimeError: no such font: .*{AGAIN}"),
    "code": (raised(f"{BOOKS}.feedback._highlight", marked, FOREIGN), f"no page: flo: RuntimeError: no such font: .*{AGAIN}"),
    "full_disk_page": (raised("nbconvert.writers.FilesWriter.write", lambda _, output, *__: MARK in output, FULL),
                       f"no page: flo: OSError: .*No space left on device: .*{AGAIN}"),
    "locked_page": (locked(f"{BOOKS}.bulk.BaseConverter.convert_single_notebook", lambda _, path: "flo" in Path(path).parts),
                    f"no page: flo: .*in use by another program: .*{AGAIN}"),
}  # fmt: skip


@pytest.mark.parametrize("failure", FAILURES)
def test_a_failure_that_meets_one_student_is_one_line_and_the_others_have_everything(six, tmp_path, failure):
    root = shutil.copytree(six, tmp_path / "class")
    inject, said = FAILURES[failure]
    for name in MADE_LATER if failure == "damaged_record" else (*MADE_LATER, "rounds", "autograded"):
        shutil.rmtree(root / name)
    if failure != "damaged_record":
        (root / "gradebook.db").unlink()
    if failure in ("grading", "full_disk_record"):
        (root / "records" / SLUG / "flo.json").unlink()
    with pytest.MonkeyPatch.context() as patch:
        inject(patch, root)
        first = run(root)
    assert first.exit_code == 1, first.output
    assert tuple(steps(first)) == NAMES
    (line,) = first.stderr.splitlines()
    assert re.search(said, line), line
    assert "flo" not in first.stdout
    assert served(root) == SIX - {"flo"}
    if failure in ("damaged_record", "no_result"):
        (root / "records" / SLUG / "flo.json").unlink()
    second = run(root)
    assert second.exit_code == 0, second.output
    assert second.stderr == ""
    assert served(root) == SIX


@pytest.mark.parametrize("place", ["look_at", "put"])
def test_a_file_that_cannot_be_collected_is_one_line_and_the_others_are(done, tmp_path, place):
    root = copy(done, tmp_path)
    more = download(root / "b.zip", ada=solved(), cy=solved(), dan=solved())
    with pytest.MonkeyPatch.context() as patch:
        of_cy = {"look_at": lambda _, member, *__: member.name, "put": lambda _, found, *__: found.member.name}[place]
        of_collector = f"autograder.gradebook.lms.collecting.Collector.{place}"
        raised(of_collector, lambda *arguments: of_cy(*arguments).startswith("cy"), NOBODY_FORESAW)(patch, root)
        first = run(root, more, "--from", "canvas")
    assert first.exit_code == 1
    (line,) = first.stderr.splitlines()
    assert re.fullmatch(r"  left out: cy_102_.*: cannot be collected \(ZeroDivisionError: nobody foresaw it\): look at the file", line)
    assert "dan_103" in served(root)
    assert "cy_102" not in served(root)
    assert run(root, more, "--from", "canvas").exit_code == 0
    assert "cy_102" in served(root)


@pytest.mark.parametrize(
    "place", [f"{BOOKS}.feedback.MarkdownWithMath", f"{BOOKS}.feedback.mathml", f"{BOOKS}.feedback.sanitised",
              f"{BOOKS}.feedback.Highlight2HTML", "latex2mathml.converter.convert"]
)  # fmt: skip
def test_a_foreign_renderer_that_fails_costs_nobody_a_page(six, tmp_path, place):
    root = shutil.copytree(six, tmp_path / "class")
    shutil.rmtree(root / "feedback")
    with pytest.MonkeyPatch.context() as patch:
        raised(place, lambda *_: True, FOREIGN)(patch, root)
        feedback._highlight.cache_clear()
        feedback.rendered.cache_clear()
        result = run(root)
    feedback._highlight.cache_clear()
    feedback.rendered.cache_clear()
    assert result.exit_code == 0, result.output
    assert served(root) == SIX
    assert MARK in (root / "feedback" / "flo" / SLUG / f"{SLUG}.html").read_text(encoding="utf-8")


def test_a_gradebook_that_takes_nobody_stops_the_round_with_one_line(six, tmp_path):
    root = shutil.copytree(six, tmp_path / "class")
    for name in (*MADE_LATER, "rounds", "autograded"):
        shutil.rmtree(root / name)
    with pytest.MonkeyPatch.context() as patch:
        raised(f"{BOOKS}.writer.write_whole", lambda *_: True, FULL)(patch, root)
        with pytest.raises(InfrastructureFault, match=rf"^the round stopped at grade: 6 submissions .*No space left on device.*{AGAIN}"):
            run(root)
    assert run(root).exit_code == 0
    assert served(root) == SIX
