"""Grading again after a check was repaired: shown before it is stored, and what a person gave stays."""

from __future__ import annotations

import csv
import datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner

from autograder.cli import app
from autograder.gradebook.books.bulk import ClassFolder, booked_scores
from autograder.gradebook.reports import regrading
from autograder.gradebook.results import booked, class_results
from autograder.grading.records import Record, read_record, write_record
from autograder.grading.tasks import find_tasks

from ..support.graded_class import CLASS, EXERCISES, TOTAL, correct_by_hand, graded_class
from ..support.submissions import QUICK, SOFTMAX

NOW = datetime.datetime(2026, 11, 21, 12)


@pytest.fixture
def folder(tmp_path: Path) -> ClassFolder:
    return graded_class(tmp_path)


def record_of(folder: ClassFolder, student: str) -> Record:
    return read_record(folder.records / SOFTMAX.slug / f"{student}.json")


def graded_too_hard(folder: ClassFolder, student: str, exercise: str = "entropy") -> str:
    """Makes the stored record, and the gradebook, those of a check that failed a right answer. -> the check"""
    from nbgrader.api import Gradebook

    record = record_of(folder, student)
    verdict = record.exercise(exercise)[0]
    verdict.outcome, verdict.message = "fail", "the check was wrong"
    score = next(s for s in record.scores if s.exercise == exercise)
    score.points -= 1
    record.course_sha256 = "of the check before it was repaired"
    write_record(folder.records, record)
    with Gradebook(folder.db_url) as gradebook:
        gradebook.find_grade(f"check_{exercise}", SOFTMAX.slug, SOFTMAX.slug, student).auto_score = score.points
        gradebook.db.commit()
    return verdict.check


def regraded(folder: ClassFolder) -> tuple[list, list[Record], list[regrading.Change]]:
    tasks = list(find_tasks(folder.submitted, [SOFTMAX]))
    old = regrading.old_records(folder.records, tasks)
    new = regrading.regrade(tasks, old, lambda seed: QUICK, folder.root / regrading.FOLDER)
    books = {(student, SOFTMAX.slug): book for student, book in booked(folder.db_url, SOFTMAX).items()}
    return tasks, new, regrading.changes(old, new, books)


def rows(folder: ClassFolder) -> dict[str, tuple[float, float | None, float | None, bool]]:
    """{student: (automatic, by hand, extra, marked for a person)} of softmax, as the gradebook has it."""
    from nbgrader.api import Gradebook

    found = {}
    with Gradebook(folder.db_url) as gradebook:
        for student in CLASS:
            g = gradebook.find_grade("check_softmax", SOFTMAX.slug, SOFTMAX.slug, student)
            found[student] = (g.auto_score, g.manual_score, g.extra_credit, bool(g.needs_manual_grade))
    return found


def test_only_what_the_repaired_check_changes_is_shown_and_nothing_is_stored(folder):
    check = graded_too_hard(folder, "ada")
    before = {path: path.read_bytes() for path in folder.records.rglob("*.json")}
    scores = booked_scores(folder, [SOFTMAX])
    _, _, found = regraded(folder)
    worth = EXERCISES["entropy"]
    assert found == [regrading.Change("ada", SOFTMAX.slug, "entropy", worth - 1, worth, (f"{check}: fail -> pass",))]
    assert {path: path.read_bytes() for path in folder.records.rglob("*.json")} == before
    assert booked_scores(folder, [SOFTMAX]) == scores
    # What was shown is what is stored: the second run takes the records of the first.
    path = folder.root / regrading.FOLDER / SOFTMAX.slug / "ada.json"
    stamp = path.stat().st_mtime_ns
    assert regraded(folder)[2] == found
    assert path.stat().st_mtime_ns == stamp


def test_storing_puts_the_new_score_in_its_place_and_keeps_the_old_record(folder):
    graded_too_hard(folder, "ada")
    old = (folder.records / SOFTMAX.slug / "ada.json").read_bytes()
    tasks, new, _ = regraded(folder)
    assert regrading.store(folder, tasks, new, NOW) == {}
    assert record_of(folder, "ada").points == TOTAL
    assert booked_scores(folder, [SOFTMAX])["ada", SOFTMAX.slug] == TOTAL
    assert (folder.root / "regraded/replaced/20261121T120000" / SOFTMAX.slug / "ada.json").read_bytes() == old
    assert regraded(folder)[2] == []


def test_a_grade_corrected_by_hand_and_extra_credit_survive(folder):
    worth = EXERCISES["softmax"]
    correct_by_hand(folder, "eve", "softmax", worth - 1)
    correct_by_hand(folder, "bob", "softmax", None, extra=0.5)
    graded_too_hard(folder, "bob", "softmax")
    graded_too_hard(folder, "eve", "entropy")
    before = rows(folder)
    tasks, new, found = regraded(folder)
    notes = {(c.student, c.exercise): c.note for c in found}
    assert notes["bob", "softmax"].startswith("corrected by hand")
    assert notes["eve", "entropy"] == ""
    assert regrading.store(folder, tasks, new, NOW) == {}
    after = rows(folder)
    assert after["eve"] == (0, worth - 1, None, True)  # marked: a person may want to look once more
    assert after["bob"] == (pytest.approx(before["bob"][0] + 1), None, 0.5, False)
    results = {r.record.student: r for r in class_results(folder, [SOFTMAX]).results}
    assert results["eve"].points == TOTAL - 1


def test_a_correction_for_an_exercise_whose_points_change_says_that_it_stays(folder):
    graded_too_hard(folder, "ada", "softmax")
    correct_by_hand(folder, "ada", "softmax", 2.0)
    _, _, found = regraded(folder)
    assert [(c.exercise, c.note) for c in found] == [("softmax", "corrected by hand: stays 2")]


def test_checks_that_came_went_or_weigh_something_else_are_named(folder):
    before, after = record_of(folder, "ada"), record_of(folder, "ada")
    gone, new, heavier = before.exercise("softmax")[:3]
    after.verdicts = [v for v in after.verdicts if v.check != gone.check]
    before.verdicts = [v for v in before.verdicts if v.check != new.check]
    next(v for v in after.verdicts if v.check == heavier.check).weight = 3
    assert set(regrading.checks_that_differ(before, after, "softmax")) == {
        f"{gone.check}: gone (pass)", f"{new.check}: new (pass)", f"{heavier.check}: weight 1 -> 3",
    }  # fmt: skip


def test_a_fault_of_ours_changes_nothing(folder):
    record = record_of(folder, "ada")
    record.infrastructure, record.scores = "the disk was full", []
    old = {("ada", SOFTMAX.slug): record_of(folder, "ada")}
    assert regrading.changes(old, [record], {}) == []
    task = next(find_tasks(folder.submitted, [SOFTMAX], "ada"))
    regrading.store(folder, [task], [record], NOW)
    assert record_of(folder, "ada").infrastructure is None


def test_the_command_shows_then_stores(folder):
    check = graded_too_hard(folder, "ada")
    arguments = ["regrade", "softmax", "--student", "ada", "--submitted", str(folder.submitted)]
    shown = CliRunner().invoke(app, arguments, env={"COLUMNS": "200"})
    assert shown.exit_code == 0, shown.output
    assert "1 submission graded again; 1 student with a changed score" in shown.stdout
    assert "nothing is stored" in shown.stdout
    assert record_of(folder, "ada").points == TOTAL - 1
    table = list(csv.DictReader((folder.root / "regraded" / "changes.csv").open()))
    assert [(row["student"], row["checks"]) for row in table] == [("ada", f"{check}: fail -> pass")]
    assert CliRunner().invoke(app, [*arguments, "--store"]).exit_code == 0
    assert record_of(folder, "ada").points == TOTAL
