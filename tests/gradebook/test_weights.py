"""Weights of days: the rule's text, the percentage, and the table of a class."""

from __future__ import annotations

import csv
import datetime
import io
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from autograder.base.errors import CourseError
from autograder.cli import app
from autograder.gradebook.lms import tables
from autograder.gradebook.policy.roster import Person
from autograder.gradebook.policy.weights import Weights, class_weights, parse_weights, set_weights
from autograder.gradebook.results import ClassResults, ExerciseResult, Result, class_results
from autograder.grading.records import Record
from autograder.lessons import Day, syllabus

from ..support.graded_class import graded_class
from ..support.submissions import SOFTMAX

DAYS = tuple(syllabus()[:4])
SLUGS = [day.slug for day in DAYS]


@pytest.mark.parametrize(
    ("weights", "shares", "percent", "counted"),
    [
        (Weights(), (0.5, 1.0, 0.75), 75.0, 3),
        (Weights({SLUGS[0]: 2.0}), (0.5, 1.0, 0.75), 68.75, 3),  # (2 * 0.5 + 1 + 0.75) / 4
        (Weights({SLUGS[1]: 0.0}), (0.5, 1.0, 0.75), 62.5, 2),
        (Weights(best=2), (0.5, 1.0, 0.75), 87.5, 2),
        (Weights({SLUGS[0]: 3.0}, best=2), (1.0, 1.0, 0.5, 0.5), 100.0, 2),
        (Weights({SLUGS[2]: 3.0}, best=1), (0.5, 0.9, 0.9), 90.0, 1),
        (Weights({SLUGS[0]: 3.0}, best=2), (0.5, 0.5, 1.0), 62.5, 2),  # of two halves the one that weighs 3: (3 * 0.5 + 1) / 4
        (Weights(best=9), (0.5, 1.0), 75.0, 2),
        (Weights({SLUGS[0]: 0.0}, best=1), (1.0, 0.25), 25.0, 1),  # a day that does not count takes no place of the best
        (Weights({SLUGS[0]: 0.0}), (1.0,), None, 0),
        (Weights(), (), None, 0),
        (Weights(), (1 / 3,), 33.33, 1),
    ],
)
def test_percentages_by_hand(weights, shares, percent, counted):
    assert weights.percentage(dict(zip(SLUGS, shares, strict=False))) == (percent, counted)


@pytest.mark.parametrize("text", ["day01=2, best 3, missing 0", "day03=0.5", "best 1", "missing 0", "day01=0"])
def test_a_rule_is_read_as_it_is_written(text, tmp_path):
    rule = parse_weights(text)
    assert rule.text == text
    set_weights(tmp_path, rule)
    assert class_weights(tmp_path) == rule
    set_weights(tmp_path, None)
    assert class_weights(tmp_path) is None


def test_other_spellings_of_a_rule():
    assert parse_weights(" softmax = 2,best  3 ") == Weights({SLUGS[0]: 2.0}, 3)
    assert parse_weights("1=1") == Weights()


@pytest.mark.parametrize(
    "text", ["", "best", "best 0", "best -1", "best 2, best 3", "day01", "day01=", "day01=.", "day01=-1", "day01=1e9", "day01=nan",
             "day01=2, softmax=3", "day99=2", "missing", "missing 1", "day01=2 best 3"],
)  # fmt: skip
def test_what_is_not_a_rule_is_refused_in_one_line(text, tmp_path):
    ran = CliRunner().invoke(app, ["weights", text, "--submitted", str(tmp_path / "submitted")])
    assert ran.exit_code == 2 or isinstance(ran.exception, CourseError)
    assert not (tmp_path / "weights.txt").exists()
    with pytest.raises(CourseError) as failed:
        parse_weights(text)
    assert "\n" not in str(failed.value)


def result(student: str, day: Day, points: float, most: float, **fields: str) -> Result:
    record = Record(student, day.slug, day.topic, "0", 0, "none", "a machine", "", **fields)
    return Result(record, Person(student), (ExerciseResult("all", points, points, most),))


def rows(results: ClassResults) -> dict[str, dict[str, str]]:
    return {row["student"]: row for row in csv.DictReader(io.StringIO(tables.gradebook(results).decode()))}


def a_class(weights: Weights | None) -> ClassResults:
    """ada did three of four days; bob did one, and one of his files cannot be read; nora did nothing. The fourth day is not over."""
    one, two, three, four = DAYS
    found = [
        result("ada", one, 8, 10), result("ada", two, 20, 20), result("ada", four, 3, 6), result("bob", one, 5, 10),
        result("bob", two, 0, 20, problem="not a notebook"), result("eve", three, 30, 30),
    ]  # fmt: skip
    people = tuple(Person(name) for name in ("ada", "bob", "eve", "nora"))
    return ClassResults(DAYS, tuple(found), people=people, weights=weights, ended=frozenset(SLUGS[:3]))


def test_what_lateness_has_cost_is_the_sum_over_all_days():
    in_time = a_class(None)
    cost = {("ada", DAYS[0].slug): 2.0, ("ada", DAYS[1].slug): 0.5}
    results = tuple(replace(one, penalty=cost.get((one.record.student, one.record.slug), 0.0)) for one in in_time.results)
    before, after = rows(in_time), rows(replace(in_time, results=results))
    assert (before["ada"]["total"], before["ada"]["late_deduction"]) == ("31", "0")
    assert (after["ada"]["total"], after["ada"]["late_deduction"]) == ("28.5", "2.5")
    assert after["ada"]["of"] == before["ada"]["of"] == "36"
    assert after["nora"]["late_deduction"] == after["(most)"]["late_deduction"] == ""


def test_a_class_without_weights_has_no_percentage():
    assert "percent" not in rows(a_class(None))["ada"]


@pytest.mark.parametrize(
    ("rule", "ada", "bob", "nora"),
    [
        ("day01=1", ("76.67", "3"), ("50", "1"), ("", "0")),
        ("day02=2", ("82.5", "3"), ("50", "1"), ("", "0")),
        ("best 2", ("90", "2"), ("50", "1"), ("", "0")),
        # three days are over: ada did not hand in the third, bob neither the third nor a readable second, which has no grade
        ("missing 0", ("57.5", "4"), ("25", "2"), ("0", "3")),
        ("best 2, missing 0", ("90", "2"), ("25", "2"), ("0", "2")),
        ("day03=0, missing 0", ("76.67", "3"), ("50", "1"), ("0", "2")),
    ],
)
def test_the_table_of_a_class(rule, ada, bob, nora):
    table = rows(a_class(parse_weights(rule)))
    assert [(table[name]["percent"], table[name]["days_counted"]) for name in ("ada", "bob", "nora")] == [ada, bob, nora]
    assert table["(most)"]["percent"] == "100"


def test_the_command_sets_shows_and_removes_the_rule_and_the_next_export_has_it(tmp_path: Path):
    folder = graded_class(tmp_path)

    def command(*arguments: str) -> str:
        ran = CliRunner().invoke(app, [*arguments, "--submitted", str(folder.submitted)])
        assert ran.exit_code in (0, 1), ran.output
        return " ".join(ran.output.split())

    assert "no percentage" in command("weights")
    assert command("weights", "day01=2, best 1") == "weights: day01=2, best 1" == command("weights")
    command("export", "--to", "csv", "--into", str(tmp_path / "exports"))
    with (tmp_path / "exports" / "gradebook.csv").open(newline="") as file:
        table = {row["student"]: row for row in csv.DictReader(file)}
    assert (table["ada"]["percent"], table["ada"]["days_counted"]) == ("100", "1")
    assert float(table["bob"]["percent"]) == pytest.approx(100 * float(table["bob"]["total"]) / float(table["bob"]["of"]), abs=0.005)
    assert (table["cut"]["percent"], table["cut"]["days_counted"]) == ("", "0")
    assert "no percentage" in command("weights", "none")
    assert class_results(folder, [SOFTMAX]).weights is None


def test_a_day_has_ended_after_its_due_date_and_without_one(tmp_path: Path):
    folder = graded_class(tmp_path)
    assert class_results(folder, [SOFTMAX]).ended == {SOFTMAX.slug}
    for days, ended in ((1, False), (-1, True)):
        when = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=days)
        ran = CliRunner().invoke(app, ["due", "day01", when.isoformat(), "--submitted", str(folder.submitted)])
        assert ran.exit_code == 0, ran.output
        assert (SOFTMAX.slug in class_results(folder, [SOFTMAX]).ended) == ended


def test_a_damaged_rule_is_named_with_its_file(tmp_path):
    (tmp_path / "weights.txt").write_text("day01=2; best 3")
    with pytest.raises(CourseError, match=r"weights\.txt: 'day01=2; best 3' is not a valid part"):
        class_weights(tmp_path)
