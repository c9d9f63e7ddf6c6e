"""One truth for a grade: tables, platforms, pages and the gradebook say the same, to the last decimal."""

from __future__ import annotations

import csv
import datetime
import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup
from typer.testing import CliRunner

from autograder.cli import app
from autograder.gradebook.books.bulk import ClassFolder
from autograder.notebook.render import points_text

from ..support.graded_class import TOTAL, WRONG, correct_by_hand, grade_class
from ..support.submissions import SOFTMAX, hand_in, released, solved

SLUG = SOFTMAX.slug
DUE = datetime.datetime(2026, 11, 20, 12, tzinfo=datetime.UTC)
CLASS = ("ada", "bob", "cut", "dora", "eve", "finn", "gus", "hal", "ida")
ROSTER = "id,lms_id,name,email\n" + "".join(f"{s},{n},{s.title()},{s}@x.org\n" for n, s in enumerate((*CLASS, "nora"), start=101))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> ClassFolder:
    """A class with one of each kind: who is late, extended, corrected, unreadable, of unknown time, twice there, and missing."""
    root = tmp_path_factory.mktemp("class")
    (root / "roster.csv").write_text(ROSTER)

    def collect(days: float | None, **files: str | bytes) -> None:
        """Files that the collector finds so many days after the due date; None: long after, and nobody says when they were handed in."""
        download = tmp_path_factory.mktemp("download")
        for student, content in files.items():
            hand_in(download, student, content)
        at = [] if days is None else ["--at", (DUE + datetime.timedelta(days=days)).isoformat()]
        run(root, "collect", str(download / "submitted"), "--from", "folder", *at)

    collect(-1, ada=solved(), bob=solved(softmax=WRONG), cut=b'{"cells": [', dora=solved(), ida=b"{", hal=released())
    collect(1.5, eve=solved(softmax=WRONG), finn=solved(entropy=None))
    collect(0.5, hal=solved(log_softmax=None))  # once more, and late
    collect(None, gus=solved())
    found = grade_class(root)
    correct_by_hand(found, "bob", "softmax", 1.2345)
    correct_by_hand(found, "dora", "entropy", None, extra=0.3333)
    correct_by_hand(found, "ida", "softmax", 2.0)  # a person read what no program could
    run(root, "due", "day01", DUE.isoformat())
    run(root, "due", "day01", (DUE + datetime.timedelta(days=2)).isoformat(), "--student", "finn")
    run(root, "late", "3.7% a day, at most 50%")
    for to in ("csv", "canvas", "moodle", "gradescope"):
        run(root, "export", "day01", "--to", to, "--into", str(root / "exports"), status=1)  # cut has no score
    run(root, "report", "day01")
    run(root, "feedback", "day01")
    return found


def run(root: Path, *arguments: str, status: int = 0) -> None:
    ran = CliRunner().invoke(app, [*arguments, "--submitted", str(root / "submitted")])
    assert ran.exit_code == status, (arguments, ran.output, ran.exception)


def table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def points(text: str) -> float | None:
    return float(text) if text else None


@pytest.fixture(scope="module")
def due(folder: ClassFolder) -> dict[str, float | None]:
    """{student: the points of the day}, from the records, the corrections and the rule, worked out here."""

    def record(student: str) -> dict[str, float]:
        scores = json.loads((folder.records / SLUG / f"{student}.json").read_text())["scores"]
        return {s["exercise"]: s["points"] for s in scores}

    late = {"eve": 0.037 * 2, "hal": 0.037}
    sums: dict[str, float | None] = {student: sum(record(student).values()) * (1 - late.get(student, 0.0)) for student in CLASS}
    sums["bob"] = sum({**record("bob"), "softmax": 1.2345}.values())
    sums["dora"] = TOTAL + 0.3333
    return {**sums, "ida": 2.0, "cut": None, "nora": None}


def of_scores(folder: ClassFolder) -> dict[str, float | None]:
    """day_points, which is the sum of the exercises less the deduction."""
    found: dict[str, float | None] = {}
    sums: dict[str, float] = defaultdict(float)
    rows = table(folder.root / "exports" / "scores.csv")
    for row in rows:
        found[row["student"]] = points(row["day_points"])
        sums[row["student"]] += points(row["points"]) or 0.0
    for row in rows:
        if found[row["student"]] is not None:
            assert sums[row["student"]] - float(row["late_deduction"]) == pytest.approx(found[row["student"]], abs=1e-9), row["student"]
        else:
            assert (row["points"], row["late_deduction"]) == ("", "")
    return found


def of_gradebook_table(folder: ClassFolder) -> dict[str, float | None]:
    first, *rows = table(folder.root / "exports" / "gradebook.csv")
    assert (first[SLUG], first["total"]) == (points_text(TOTAL), points_text(TOTAL))
    assert all(row["total"] == row[SLUG] for row in rows)
    deducted = {row["student"]: row["late_deduction"] for row in table(folder.root / "exports" / "scores.csv")}
    assert {row["student"]: row["late_deduction"] for row in rows} == {**deducted, "nora": ""}
    assert {"", "0"} < set(deducted.values())
    assert {row["student"]: row["of"] for row in rows} == {
        student: "0" if student in ("cut", "nora") else points_text(TOTAL) for student in (*CLASS, "nora")
    }
    return {row["student"]: points(row[SLUG]) for row in rows}


def of_canvas(folder: ClassFolder) -> dict[str, float | None]:
    rows = table(folder.root / "exports" / "canvas.csv")[1:]
    return {row["Student"].lower(): points(row["Day 01 Softmax"]) for row in rows}


def of_moodle(folder: ClassFolder) -> dict[str, float | None]:
    return {r["Full name"].lower(): points(r["Grade"]) for r in table(folder.root / "exports" / f"moodle_{SLUG}.csv")}


def of_gradescope(folder: ClassFolder) -> dict[str, float | None]:
    files = (folder.root / "exports" / "gradescope" / SLUG).glob("*/results.json")
    made = {path.parent.name: json.loads(path.read_text()) for path in files}
    for student, results in made.items():
        assert sum(test["score"] for test in results["tests"]) == pytest.approx(results["score"], abs=2e-3), student  # of rounded checks
    return {student: results["score"] for student, results in made.items()}


def of_nbgrader(folder: ClassFolder) -> dict[str, float | None]:
    from nbgrader.api import Gradebook

    with Gradebook(folder.db_url) as gradebook:
        found: dict[str, float | None] = {}
        for submission in gradebook.assignment_submissions(SLUG):
            grades = [grade for notebook in submission.notebooks for grade in notebook.grades]
            empty = all(grade.auto_score is None and grade.manual_score is None for grade in grades)
            assert not empty or all(grade.needs_manual_grade for grade in grades)
            found[submission.student.id] = None if empty else submission.score - (submission.late_submission_penalty or 0.0)
        return found


OF: dict[str, Any] = {
    "scores.csv": of_scores, "gradebook.csv": of_gradebook_table, "canvas": of_canvas, "moodle": of_moodle, "gradescope": of_gradescope,
    "nbgrader": of_nbgrader,
}  # fmt: skip


@pytest.mark.parametrize("name", OF)
def test_a_table_says_what_is_due(folder, due, name):
    found = OF[name](folder)
    expected = {student: due[student] for student in found}
    assert found == {student: value if value is None else pytest.approx(value, abs=1e-4) for student, value in expected.items()}
    named = {"gradescope": set(CLASS) - {"cut"}, "gradebook.csv": {*CLASS, "nora"}, "canvas": {*CLASS, "nora"}}
    assert found.keys() == named.get(name, set(CLASS))


def test_pages_say_it_with_two_decimals(folder, due):
    soup = BeautifulSoup((folder.root / "report" / "index.html").read_text(), "html.parser")
    shown = next(t for t in soup.find_all("table") if t.caption.get_text().startswith("Points by"))
    rows = shown.tbody.find_all("tr")
    cells = {row.find("th").get_text(strip=True): row.find("td", class_="number").get_text(strip=True) for row in rows}
    assert cells == {student: "not graded" if due[student] is None else points_text(due[student]) for student in CLASS}
    for student in CLASS:
        text = BeautifulSoup((folder.feedback / student / SLUG / f"{SLUG}.html").read_text(), "html.parser").get_text(" ", strip=True)
        worth = re.search(rf"{SLUG}, {student}: (not graded|[\d.]+ of)", text)
        late = re.search(r"late: minus ([\d.]+) points", text)
        assert worth is not None, text[:300]
        if due[student] is None:
            assert (worth[1], late) == ("not graded", None)
        else:
            assert worth[1] == f"{points_text(due[student])} of"
            assert (late is not None) == (student in ("eve", "hal"))


def test_what_cannot_be_read_is_listed_with_an_address_and_not_in_the_mean(folder, due):
    text = BeautifulSoup((folder.root / "report" / "index.html").read_text(), "html.parser").get_text(" ", strip=True)
    assert "cut , cut@x.org: day01_softmax.ipynb is not JSON" in text
    graded = [value for value in due.values() if value is not None]
    assert f"mean {points_text(sum(graded) / len(graded))} of {points_text(TOTAL)}" in text
    assert "gus : collected 20" in text  # its time is not known: nothing is taken off
