"""A whole round in one command: five steps, nothing twice, and where it stopped it goes on."""

from __future__ import annotations

import csv
import datetime
import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from autograder.base.errors import InfrastructureFault
from autograder.cli import app
from autograder.gradebook.books import bulk
from autograder.gradebook.books.bulk import ClassFolder
from autograder.gradebook.policy.deadlines import set_due
from autograder.gradebook.results import automatic_scores, booked, class_results

from ..repository.test_startup import SCRIPT
from ..support.graded_class import TOTAL, WRONG, correct_by_hand
from ..support.submissions import SOFTMAX, hand_in, solved

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


def download(path: Path, **answers: dict) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for number, (student, notebook) in enumerate(answers.items(), start=101):
            archive.writestr(f"{student}_{number}_9{number}_{SLUG}.ipynb", json.dumps(notebook))
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
    assert {path: kept for path, kept in files(root).items() if path.parts[0] != "work"} == before


def test_a_new_hand_in_is_graded_alone_and_told_everywhere(done, tmp_path):
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


def test_a_correction_by_hand_is_told_and_nothing_is_graded(done, tmp_path):
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
    assert all(after[path] == kept for path, kept in before.items() if path.parts[0] in ("records", "autograded", "submitted"))


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


def test_what_is_for_a_person_stops_nothing_and_is_told_each_time(tmp_path):
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
