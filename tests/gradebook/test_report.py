"""The class report: what it says is what the records say, and it can be read without network, by everybody."""

from __future__ import annotations

import csv
import datetime
import itertools
import re
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from typer.testing import CliRunner

from autograder.base.specimen_files import SPECIMENS, find_specimens
from autograder.checking.mistakes import known
from autograder.cli import app
from autograder.gradebook.books.bulk import ClassFolder
from autograder.gradebook.lms.collecting import Entry, Notes
from autograder.gradebook.policy.deadlines import set_due
from autograder.gradebook.policy.roster import Person
from autograder.gradebook.reports import items, report, speeds
from autograder.gradebook.results import ClassResults, ExerciseResult, Result, class_results
from autograder.grading.records import read_record, write_record

from ..support.graded_class import CLASS, EXERCISES, correct_by_hand, graded_class
from ..support.submissions import SOFTMAX, graded, solved

NOW = datetime.datetime(2026, 11, 21, 12, tzinfo=datetime.UTC)


@pytest.fixture
def folder(tmp_path: Path) -> ClassFolder:
    return graded_class(tmp_path)


def read(folder: ClassFolder) -> ClassResults:
    return class_results(folder, [SOFTMAX])


def page(folder: ClassFolder) -> BeautifulSoup:
    return BeautifulSoup(report.html(read(folder), NOW), "html.parser")


def table(soup: BeautifulSoup, caption: str) -> list[dict[str, str]]:
    found = next(t for t in soup.find_all("table") if t.caption.get_text().startswith(caption))
    heads = [th.get_text() for th in found.thead.find_all("th")]
    rows = ([c.get_text(" ", strip=True) for c in row.find_all(["td", "th"])] for row in found.tbody.find_all("tr"))
    return [dict(zip(heads, row, strict=True)) for row in rows]


def test_every_student_and_every_exercise_has_its_line(folder):
    soup = page(folder)
    assert [row["student"] for row in table(soup, "Points by")] == list(CLASS)
    lines = {row["exercise"]: row for row in table(soup, "Exercises")}
    assert lines.keys() == EXERCISES.keys()
    softmax = lines["softmax"]
    # ada and ivan have it, bob has some, eve's does not end, blank has nothing; cut's file cannot be read and counts nowhere.
    assert [softmax[k] for k in ("full marks", "some", "none", "not begun")] == ["2", "1", "2", "1"]


def test_failed_checks_are_reported_with_their_cause_and_without_what_timed_out(folder):
    lines = report.day_report(SOFTMAX, read(folder).results).checks
    bob = read_record(folder.records / SOFTMAX.slug / "bob.json")
    wrong = {v.check: v.cause or v.message.split("\n")[0][:200] for v in bob.verdicts if v.outcome in ("fail", "error")}
    mine = {line.check: line for line in lines if line.exercise == "softmax"}
    assert mine.keys() == wrong.keys()
    assert wrong
    for name, line in mine.items():
        assert line.causes == ((wrong[name], 1),)
        assert (line.failed, line.attempts) == (1, 4)  # ada, bob, eve, ivan


def test_a_cell_that_did_not_run_is_counted_once_and_not_at_every_check(folder):
    record = read_record(folder.records / SOFTMAX.slug / "bob.json")
    for verdict in record.exercise("softmax"):
        verdict.outcome, verdict.message = "error", "the cell that defines softmax did not run to its end: SyntaxError"
    write_record(folder.records, record)
    found = report.day_report(SOFTMAX, read(folder).results)
    assert not [line for line in found.checks if line.exercise == "softmax"]
    assert {line.exercise: line.not_run for line in found.exercises}["softmax"] == 1


def test_time_outs_and_crashes_stand_apart(folder):
    lines = {(row["student"], row["where"]): row["outcome"] for row in table(page(folder), "Ran out")}
    assert lines["eve", "softmax"] == "timed out"
    assert lines["ivan", "entropy"] == "crashed"
    assert {student for student, _ in lines} == {"eve", "ivan"}


def test_late_and_unreadable_files_and_those_for_a_person_are_named(folder):
    notes = Notes(folder.root)
    notes.entries["bob", SOFTMAX.slug] = Entry("", "2026-11-21T03:00:00+00:00", "folder", at_given=True)
    notes.entries["eve", SOFTMAX.slug] = Entry("", "2026-11-21T03:00:00+00:00", "canvas", lms_late=True)
    notes.entries["ada", SOFTMAX.slug] = Entry("", "2026-11-19T03:00:00+00:00", "folder")
    notes.save()
    set_due(folder.root, SOFTMAX, datetime.datetime(2026, 11, 20, 23, tzinfo=datetime.UTC))
    record = read_record(folder.records / SOFTMAX.slug / "ivan.json")
    record.infrastructure = "<b>the disk was full</b>"
    write_record(folder.records, record)
    text = page(folder).get_text(" ", strip=True)
    assert re.search(r"bob : late by 4 h 0 min", text)
    assert re.search(r"eve : late according to Canvas", text)
    assert not re.search(r"ada : late", text)
    assert re.search(r"cut : .*not JSON", text)
    assert re.search(r"ivan : <b>the disk was full</b>", text)
    known = {row["student"]: row["what to know"] for row in table(page(folder), "Points by")}
    assert known["ivan"].startswith(f"{SOFTMAX.slug}: needs a person")


def test_a_folder_that_names_no_student_is_on_the_page(folder):
    (folder.submitted / "Ann <b>Lee" / SOFTMAX.slug).mkdir(parents=True)
    assert CliRunner().invoke(app, ["report", "day01", "--submitted", str(folder.submitted)]).exit_code == 0
    soup = BeautifulSoup((folder.root / "report" / "index.html").read_text(encoding="utf-8"), "html.parser")
    heading = next(h for h in soup.find_all("h2") if h.get_text() == "Folders that were not graded")
    (line,) = heading.find_next("ul").find_all("li")
    assert line.get_text().startswith("'Ann <b>Lee': a student id has letters")


def test_a_mistake_that_grading_recognised_is_reported_by_its_name(tmp_path):
    mistake = known(SOFTMAX.topic, hidden=True)["entropy"][0]
    wrong = next(each.text for each in find_specimens(SPECIMENS, [SOFTMAX.topic]) if each.file == mistake["files"][0])
    result = Result(graded(tmp_path, solved(entropy=wrong)), Person("ada"), tuple(ExerciseResult(e, 0, 0, w) for e, w in EXERCISES.items()))
    assert items.mistake_lines([result]) == [items.MistakeLine("entropy", mistake["says"][0], ("ada",))]


def test_a_grade_corrected_by_hand_is_counted(folder):
    correct_by_hand(folder, "eve", "softmax", EXERCISES["softmax"])
    lines = {line.exercise: line for line in report.day_report(SOFTMAX, read(folder).results).exercises}
    assert (lines["softmax"].full, lines["softmax"].corrected) == (3, 1)


def test_markup_of_a_student_stays_text(folder):
    record = read_record(folder.records / SOFTMAX.slug / "bob.json")
    for verdict in record.verdicts:
        verdict.message, verdict.cause = "<script>alert(1)</script>", None
    write_record(folder.records, record)
    soup = page(folder)
    assert soup.find("script") is None
    assert "<script>alert(1)</script>" in soup.get_text()


# Readable by everybody


def test_the_page_needs_no_network(folder):
    html = report.html(read(folder), NOW)
    assert "http" not in html.replace("http-equiv", "")
    soup = BeautifulSoup(html, "html.parser")
    assert not soup.find_all(["script", "link", "img", "iframe"])
    ids = {tag["id"] for tag in soup.find_all(id=True)}
    assert {a["href"] for a in soup.find_all("a")} <= {f"#{name}" for name in ids}
    assert "url(" not in html


def test_the_page_has_landmarks_a_language_and_headers_with_a_scope(folder):
    soup = page(folder)
    assert soup.html["lang"] == "en"
    assert soup.title.get_text().strip()
    for landmark in ("header", "nav", "main", "footer", "h1"):
        assert len(soup.find_all(landmark)) == 1, landmark
    assert all(th.get("scope") in ("col", "row") for th in soup.find_all("th"))
    assert all(t.caption is not None for t in soup.find_all("table"))
    assert all(row.find("th", scope="row") for t in soup.find_all("table") for row in t.tbody.find_all("tr"))
    assert all(svg.get("role") == "img" and svg.get("aria-label") for svg in soup.find_all("svg"))
    levels = [int(h.name[1]) for h in soup.find_all(re.compile("^h[1-6]$"))]
    assert all(b - a <= 1 for a, b in itertools.pairwise(levels))


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_text_stands_out_from_its_ground_in_light_and_dark(folder):
    themes = re.findall(r":root \{([^}]*)\}", report.html(read(folder), NOW))
    assert len(themes) == 2
    for theme in themes:
        colours = dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", theme))
        for ink, ground in itertools.product(("ink", "soft", "attention"), ("paper", "stripe")):
            light, dark = sorted((luminance(colours[ink]), luminance(colours[ground])), reverse=True)
            assert (light + 0.05) / (dark + 0.05) >= 4.5, (ink, ground)


def test_points_are_spread_over_ten_bins():
    assert report.histogram([0, 0.5, 5, 10, 10], 10) == (2, 0, 0, 0, 0, 1, 0, 0, 0, 2)
    assert report.histogram([], 0) == (0,) * 10


def test_a_day_whose_checks_measure_no_speed_says_nothing_of_it(folder):
    assert speeds.speed_lines(read(folder).results) == []
    assert "Speed" not in report.html(read(folder), NOW)


# The command


def test_report_writes_a_page_and_its_tables(folder):
    result = CliRunner().invoke(app, ["report", "softmax", "--submitted", str(folder.submitted)])
    assert result.exit_code == 0
    into = folder.root / "report"
    assert sorted(p.name for p in into.iterdir()) == [
        "checks.csv", "gradebook.csv", "index.html", "items.csv", "mistakes.csv", "scores.csv", "speed.csv",
    ]  # fmt: skip
    rows = list(csv.DictReader((into / "checks.csv").open()))
    assert rows
    assert all(row["likely_cause"] for row in rows)


def test_nothing_graded_is_one_line(tmp_path):
    result = CliRunner().invoke(app, ["report", "--submitted", str(tmp_path / "submitted")])
    assert "run `autograder grade` first" in str(result.exception)
