"""Item analysis: numbers worked by hand, and no number where it would mean nothing."""

from __future__ import annotations

import csv
import datetime
import io
import math
import re
from collections.abc import Iterable, Sequence

import pytest
from bs4 import BeautifulSoup

from autograder.base.verdicts import ERROR, FAIL, INCONCLUSIVE, NO_CELL, NOT_RUN, NOT_WRITTEN, PASS, SKIPPED, Verdict
from autograder.gradebook.policy.roster import Person
from autograder.gradebook.reports import items, report
from autograder.gradebook.results import ClassResults, ExerciseResult, Result
from autograder.grading.records import Record
from autograder.lessons import find_day

from ..support.graded_class import EXERCISES
from ..support.submissions import Notebook, cells_of, graded, solved

DAY = find_day("softmax")
NOW = datetime.datetime(2026, 11, 21, 12, tzinfo=datetime.UTC)
MISTAKE = items.KNOWN_MISTAKE + "The maximum is not taken off."


def verdict(outcome: str, check: str = "test_a", exercise: str = "softmax", message: str = "", cause: str | None = None) -> Verdict:
    return Verdict(check, exercise, f"title of {check}", 1.0, False, outcome, message, cause=cause)


def result(student: str, verdicts: Sequence[Verdict], elsewhere: float = 0.0) -> Result:
    """A student with these verdicts in softmax, worth 4 points, and `elsewhere` in entropy, of which no check is stored."""
    scored = [v for v in verdicts if v.outcome != SKIPPED]
    mine = 4.0 * sum(v.passed for v in scored) / max(len(scored), 1)
    record = Record(student, DAY.slug, DAY.topic, "0", 0, "none", "a machine", "", verdicts=list(verdicts))
    exercises = (ExerciseResult("softmax", mine, mine, 4.0), ExerciseResult("entropy", elsewhere, elsewhere, 4.0))
    return Result(record, Person(student), exercises)


def a_class(passed: Iterable[float], failed: Iterable[float]) -> list[Result]:
    """Students who pass test_a, and who fail it, with what they have elsewhere."""
    both = [*((PASS, points) for points in passed), *((FAIL, points) for points in failed)]
    return [result(f"s{n:02d}", [verdict(outcome)], points) for n, (outcome, points) in enumerate(both)]


def line(results: Sequence[Result]) -> items.ItemLine:
    (found,) = items.item_lines(results)
    return found


def test_a_point_biserial_correlation_worked_by_hand():
    # Elsewhere: five have 2, ten have 1, five have 0: mean 1, variance 1/2. Who passes has 1.5 on average, who fails 0.5; half pass:
    # r = (1.5 - 0.5) / sqrt(1/2) * sqrt(1/2 * 1/2) = sqrt(1/2).
    found = line(a_class(passed=[2] * 5 + [1] * 5, failed=[1] * 5 + [0] * 5))
    assert found.discrimination == pytest.approx(math.sqrt(0.5))
    assert (found.passed, found.tried, found.share, found.words) == (10, 20, 0.5, "")


def test_a_check_is_not_held_against_its_own_points():
    # The same elsewhere on both sides: with the check's own 4 points in the total, r would be near 1.
    found = line(a_class(passed=[0, 1, 2, 3, 4] * 2, failed=[0, 1, 2, 3, 4] * 2))
    assert found.discrimination == pytest.approx(0.0)
    assert found.words == "may be chance"


def test_other_checks_of_the_same_exercise_count_as_elsewhere():
    students = [
        result(f"s{n:02d}", [verdict(PASS if n < 10 else FAIL), verdict(PASS if n % 10 < 5 else FAIL, "test_b")]) for n in range(20)
    ]
    a, b = items.item_lines(students)
    assert a.discrimination == b.discrimination == pytest.approx(0.0)


def test_a_check_that_the_stronger_fail_is_to_be_looked_at():
    found = line(a_class(passed=[0, 1] * 10, failed=[3, 4] * 10))
    assert found.discrimination is not None
    assert found.discrimination < -0.9
    assert found.words.startswith("look at this check")


@pytest.mark.parametrize(
    ("passed", "failed", "words"),
    [
        ([1, 2] * 8, [0, 1, 2], "too few"),
        ([1, 2] * 12, [], "all pass"),
        ([], [1, 2] * 12, "nobody passes"),
        ([1, 2] * 12, [0, 0], "too few fail"),
        ([1, 2], [0, 1] * 12, "too few pass"),
        ([1] * 12, [1] * 12, "all else is equal"),
    ],
)
def test_no_number_is_given_where_it_would_mean_nothing(passed, failed, words):
    found = line(a_class(passed, failed))
    assert found.discrimination is None
    assert found.words == words


def test_who_did_not_try_is_not_counted():
    students = [
        result("ada", [verdict(PASS)]),
        result("bob", [verdict(FAIL)]),
        result("blank", [verdict(ERROR, message="not written yet: softmax")]),
        result("torn", [verdict(ERROR, message=f"{NOT_RUN} softmax did not run to its end: SyntaxError")]),
        result("fast", [verdict(SKIPPED, message="no GPU")]),
        result("maybe", [verdict(INCONCLUSIVE)]),
    ]
    found = line(students)
    assert (found.read, found.tried, found.failed_by) == (6, 2, ("bob",))
    assert (found.not_begun, found.no_cell, found.not_run) == (1, 0, 1)


def retype(cell: Notebook, notebook: Notebook) -> None:
    cell["cell_type"] = "markdown"


def delete(cell: Notebook, notebook: Notebook) -> None:
    notebook["cells"].remove(cell)


def empty(cell: Notebook, notebook: Notebook) -> None:
    cell["source"] = "# later\n"


@pytest.mark.parametrize(("change", "reason"), [(retype, NO_CELL), (delete, NO_CELL), (empty, NOT_WRITTEN)])
def test_an_exercise_without_a_code_cell_is_counted_apart(tmp_path, change, reason):
    notebook = solved()
    change(next(cell for cell in cells_of(notebook, "exercise") if cell["metadata"]["course"]["exercise"] == "softmax"), notebook)
    record = graded(tmp_path, notebook)
    results = ClassResults((DAY,), (Result(record, Person("ada"), tuple(ExerciseResult(e, 0.0, 0.0, w) for e, w in EXERCISES.items())),))
    rows = {row["exercise"]: row for row in csv.DictReader(io.StringIO(items.items_csv(results).decode()))}
    counts = ("submissions", "not_begun", "cell_missing", "cell_not_run", "tried", "failed_by")
    assert [rows["softmax"][each] for each in counts] == ["1", *(("0", "1") if reason == NO_CELL else ("1", "0")), "0", "0", ""]
    assert [rows["log_softmax"][each] for each in counts] == ["1", "0", "0", "0", "1", ""]
    found = report.day_report(DAY, results.results)
    untried = {e.exercise: (e.not_written, e.no_cell) for e in found.exercises}
    assert untried == dict.fromkeys(EXERCISES, (0, 0)) | {"softmax": (reason == NOT_WRITTEN, reason == NO_CELL)}
    assert not found.checks


@pytest.mark.parametrize(
    ("reason", "untried"),
    [
        (verdict(ERROR, message=f"{NOT_WRITTEN}: softmax"), NOT_WRITTEN),
        (verdict(ERROR, message="your code raised NameError", cause="Its cell is gone from the notebook."), NO_CELL),
        (verdict(ERROR, message=f"{NOT_RUN} softmax did not run to its end: SyntaxError"), NOT_RUN),
    ],
)
def test_a_check_that_catches_what_a_missing_function_raises_makes_no_try(reason, untried):
    caught = verdict(FAIL, "test_b", message="softmax(...) raises another exception")
    assert items.why_untried([reason, caught]) == untried
    assert items.why_untried([caught]) == ""
    assert items.why_untried([reason, verdict(PASS, "test_b")]) == ""


def test_a_check_that_nobody_tried_has_no_share():
    found = line([result("blank", [verdict(ERROR, message="not written yet: softmax")])])
    assert (found.tried, found.share) == (0, None)
    assert items.item_lines([]) == []


def named() -> ClassResults:
    known = [result(student, [verdict(FAIL, cause=MISTAKE), verdict(FAIL, "test_b")]) for student in ("cy", "bob")]
    other = result("ada", [verdict(FAIL, cause="The rows do not add up to 1."), verdict(PASS, "test_b")])
    return ClassResults((DAY,), (*known, other))


def test_known_mistakes_are_reported_with_who_made_them():
    assert items.mistake_lines(named().results) == [items.MistakeLine("softmax", "The maximum is not taken off.", ("bob", "cy"))]


def test_tables_have_a_row_a_check_and_a_row_a_mistake():
    rows = list(csv.DictReader(io.StringIO(items.items_csv(named()).decode())))
    assert [(r["check"], r["passed"], r["tried"], r["failed_by"], r["discrimination"], r["note"]) for r in rows] == [
        ("test_a", "0", "3", "ada bob cy", "", "too few"), ("test_b", "1", "3", "bob cy", "", "too few"),
    ]  # fmt: skip
    (row,) = csv.DictReader(io.StringIO(items.mistakes_csv(named()).decode()))
    assert row == {
        "day": DAY.slug, "exercise": "softmax", "mistake": "The maximum is not taken off.", "how_many": "2", "students": "bob cy",
    }  # fmt: skip


def test_the_page_shows_both():
    soup = BeautifulSoup(report.html(named(), NOW), "html.parser")
    tables = {re.split("[,:]", t.caption.get_text())[0]: t.get_text(" ", strip=True) for t in soup.find_all("table")}
    assert "title of test_b 1 of 3 33 % too few bob, cy" in tables["Item analysis"]
    assert "softmax The maximum is not taken off. 2 bob, cy" in tables["Known mistakes"]


def test_a_long_list_of_students_is_folded():
    results = ClassResults((DAY,), tuple(a_class([1] * 3, [0] * 6)))
    (folded,) = BeautifulSoup(report.html(results, NOW), "html.parser").find_all("details")
    assert folded.get_text(" ", strip=True) == "6 students s03, s04, s05, s06, s07, s08"
