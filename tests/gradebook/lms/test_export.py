"""Scores for other systems, from a class that was really graded: their own forms, no hidden check in what students see."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
from typer.testing import CliRunner

from autograder.checking.runner import load_checks
from autograder.cli import app
from autograder.gradebook.books.bulk import ClassFolder
from autograder.gradebook.lms import gradescope, tables
from autograder.gradebook.policy.roster import Person, Roster
from autograder.gradebook.results import ClassResults, class_results
from autograder.grading.records import read_record, write_record
from autograder.lessons import find_day

from ...support.graded_class import CLASS, EXERCISES, TOTAL, correct_by_hand, graded_class
from ...support.submissions import SOFTMAX

SCHEMA = json.loads((Path(__file__).parents[2] / "support" / "gradescope_schema.json").read_text())
ROSTER = Roster([
    Person("ada", "11", "Lovelace, Ada", "ada@x.org", "S1", "ada1", "A"),
    Person("bob", "12", "=cmd|' /C calc'!A0", "bob@x.org"),
    Person("eve", "", "Eve", "eve@x.org"),
])  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> ClassFolder:
    return graded_class(tmp_path)


@pytest.fixture
def results(folder: ClassFolder) -> ClassResults:
    return class_results(folder, [SOFTMAX], ROSTER)


def rows(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(content.decode("utf-8"), newline="")))


def of(results: ClassResults, student: str):
    return next(r for r in results.results if r.record.student == student)


# Gradescope


def test_every_gradescope_file_is_of_the_documented_form(results):
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    for result in results.results:
        jsonschema.validate(json.loads(gradescope.results_json(result)), SCHEMA)


def test_the_schema_refuses_what_is_not_documented():
    unknown = [{"score": 1, "points": 2}, {"score": 1, "visibility": "no"}, {"score": 1, "tests": [{"status": "ok"}]}]
    for wrong in ({}, {"score": "4"}, *unknown):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, SCHEMA)


def test_gradescopes_tests_add_up_to_the_score(results, folder):
    correct_by_hand(folder, "bob", "softmax", EXERCISES["softmax"] - 0.5, extra=0.25)
    corrected = class_results(folder, [SOFTMAX], ROSTER)
    for result in [*results.results, *corrected.results]:
        document = gradescope.results(result)
        assert sum(t["score"] for t in document["tests"]) == pytest.approx(document["score"], abs=1e-2)
        assert sum(t["max_score"] for t in document["tests"]) == pytest.approx(TOTAL, abs=1e-2)
    names = [t["name"] for t in gradescope.results(of(corrected, "bob"))["tests"]]
    assert "softmax: corrected by hand" in names


def test_students_see_no_hidden_check(results):
    hidden = [c for c in load_checks("softmax") if c.hidden]
    visible_titles = {c.title for c in load_checks("softmax") if not c.hidden}
    for result in results.results:
        document = gradescope.results(result)
        assert {t["visibility"] for t in document["tests"]} == {"visible"}
        seen = json.dumps({k: v for k, v in document.items() if k != "extra_data"})
        assert [c.name for c in hidden if c.name in seen] == []
        assert [c.title for c in hidden if f": {c.title}\"" in seen and c.title not in visible_titles] == []
    assert {h["check"] for h in gradescope.results(of(results, "bob"))["extra_data"]["hidden_checks"]} == {c.name for c in hidden}


def test_gradescope_tells_why_a_file_could_not_be_read(results):
    document = gradescope.results(of(results, "cut"))
    assert document["score"] == 0
    assert "not JSON" in document["output"]


# Tables


def test_the_table_has_a_row_a_student_and_exercise(results):
    table = rows(tables.everything(results))
    assert [(r["student"], r["exercise"]) for r in table] == [(s, e) for s in CLASS for e in EXERCISES]
    ada = [r for r in table if r["student"] == "ada"]
    assert {r["exercise"]: float(r["points"]) for r in ada} == EXERCISES
    bob = next(r for r in table if (r["student"], r["exercise"]) == ("bob", "softmax"))
    assert 0 < float(bob["points"]) < EXERCISES["softmax"]
    assert len(bob["failed_checks"].split()) == int(bob["checks"]) - int(bob["checks_passed"])
    own = {(r["student"], r["exercise"]): r["status"] for r in table}
    assert {name: own[name] for name in (("bob", "softmax"), ("bob", "entropy"), ("eve", "softmax"), ("eve", "entropy"))} == {
        ("bob", "softmax"): "partial", ("bob", "entropy"): "pass", ("eve", "softmax"): "timed out", ("eve", "entropy"): "pass",
    }  # fmt: skip
    assert {r["student"]: r["submission_status"] for r in table} == {
        "ada": "pass", "blank": "zero", "bob": "partial", "cut": "unreadable", "eve": "timed out", "ivan": "crashed",
    }  # fmt: skip


def test_a_students_text_is_no_formula_of_a_spreadsheet(results):
    assert next(r["name"] for r in rows(tables.everything(results)) if r["student"] == "bob").startswith("'=cmd")
    assert b"\n=cmd" not in tables.canvas(results, {})[0]
    assert tables.harmless("Ada") == "Ada"
    formulas = Person("zoe", lms_id="@1", name="=1+1", sis_id="+2", login="@x", section="-1")
    canvas = tables.canvas(replace(results, people=(*results.people, formulas)), {})[0].decode()
    assert ["'=1+1", "'@1", "'+2", "'@x", "'-1", ""] in list(csv.reader(io.StringIO(canvas, newline="")))


def test_canvas_gets_its_own_columns(results):
    content, unknown = tables.canvas(results, {SOFTMAX.slug: "12345"})
    table = list(csv.reader(io.StringIO(content.decode(), newline="")))
    assert table[0] == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Day 01 Softmax (12345)"]
    assert table[1] == ["    Points Possible", "", "", "", "", tables.number(TOTAL)]
    assert table[2] == ["Lovelace, Ada", "11", "S1", "ada1", "A", tables.number(TOTAL)]
    assert unknown == ["blank", "cut", "eve", "ivan"]
    assert tables.column(find_day("samplers"), None) == "Day 05 Samplers"
    people = (Person("nora", lms_id="99", name="Noether, Nora"), Person("ada", lms_id="11"), Person("unknown"))
    content, _ = tables.canvas(replace(results, people=people), {})
    table = list(csv.reader(io.StringIO(content.decode(), newline="")))
    assert [row for row in table if row[1] in ("11", "99")] == [table[2], ["Noether, Nora", "99", "", "", "", ""]]


def test_moodle_gets_identifier_and_grade(results):
    content, unknown = tables.moodle(results, SOFTMAX)
    table = {r["Full name"]: r for r in rows(content)}
    assert table["Lovelace, Ada"]["Identifier"] == "Participant 11"
    assert table["Lovelace, Ada"]["Grade"] == table["Lovelace, Ada"]["Maximum Grade"] == tables.number(TOTAL)
    assert (table["Eve"]["Identifier"], table["Eve"]["Email address"]) == ("", "eve@x.org")
    assert unknown == ["blank", "cut", "ivan"]
    assert "softmax" in table["Eve"]["Feedback comments"]


def test_a_grade_corrected_by_hand_and_a_penalty_count(folder):
    from nbgrader.api import Gradebook

    correct_by_hand(folder, "eve", "softmax", EXERCISES["softmax"])
    with Gradebook(folder.db_url) as gradebook:
        gradebook.find_submission_notebook(SOFTMAX.slug, SOFTMAX.slug, "ada").late_submission_penalty = 1.5
        gradebook.db.commit()
    results = class_results(folder, [SOFTMAX])
    assert of(results, "eve").points == TOTAL
    assert of(results, "ada").points == TOTAL - 1.5
    assert [e.exercise for e in of(results, "eve").exercises if e.by_hand] == ["softmax"]


# The command


def run(folder: ClassFolder, *arguments: object):
    into = folder.root / "exports"
    return CliRunner().invoke(app, ["export", "softmax", *map(str, arguments), "--submitted", str(folder.submitted), "--into", str(into)])


@pytest.mark.parametrize(
    ("to", "files"),
    [
        ("csv", ["gradebook.csv", "scores.csv"]), ("canvas", ["canvas.csv"]), ("moodle", ["moodle_day01_softmax.csv"]),
        ("gradescope", [f"gradescope/day01_softmax/{s}/results.json" for s in CLASS if s != "cut"]),
    ],
)  # fmt: skip
def test_export_writes_the_files(folder, to, files):
    (folder.root / "roster.csv").write_text("id,lms_id\n" + "".join(f"{s},{n}\n" for n, s in enumerate(CLASS, start=1)))
    ran = run(folder, "--to", to)
    assert ran.exit_code == 1
    assert ran.output.startswith("unreadable, no score is exported: cut, day01_softmax\n")
    assert sorted(p.relative_to(folder.root / "exports").as_posix() for p in (folder.root / "exports").rglob("*.*")) == files


def test_a_fault_of_ours_is_exported_as_no_score(folder):
    path = folder.records / SOFTMAX.slug / "bob.json"
    record = read_record(path)
    record.infrastructure = "the disk was full"
    write_record(folder.records, record)
    ran = run(folder, "--to", "csv")
    assert ran.exit_code == 1
    assert "needs a person, no score is exported: bob" in ran.output
    table = rows((folder.root / "exports" / "scores.csv").read_bytes())
    assert {r["points"] for r in table if r["student"] == "bob"} == {""}


def test_a_damaged_record_is_one_line_and_the_others_are_exported(folder):
    (folder.records / SOFTMAX.slug / "bob.json").write_text("{")
    ran = run(folder, "--to", "csv")
    assert ran.exit_code == 1
    assert "bob.json: a damaged record" in ran.output
    assert {r["student"] for r in rows((folder.root / "exports" / "scores.csv").read_bytes())} == set(CLASS) - {"bob"}


def test_wrong_arguments_are_one_line(folder, tmp_path):
    for arguments, words in ((["--assignment", "day01=x", "--to", "canvas"], "day05=12345"), (["--assignment", "day01=1"], "canvas only")):
        result = run(folder, *arguments)
        assert result.exit_code != 0
        assert words in str(result.exception)
