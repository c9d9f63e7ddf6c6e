"""Late work, extensions, second hand-ins, corrections and regrades, one with another: each by one command, and nothing gets lost."""

from __future__ import annotations

import csv
import datetime
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from typer.testing import CliRunner
from typer.testing import Result as Ran

from autograder.base.errors import CourseError
from autograder.cli import app
from autograder.gradebook.booking import book_penalties
from autograder.gradebook.books.bulk import ClassFolder
from autograder.gradebook.books.writer import WriterThread
from autograder.gradebook.lms.collecting import Entry, Notes
from autograder.gradebook.policy import deadlines, late
from autograder.gradebook.policy.deadlines import Lateness, lateness, lateness_in_place
from autograder.gradebook.policy.roster import find_roster
from autograder.gradebook.reports import report
from autograder.gradebook.results import ClassResults, Result, booked, class_results
from autograder.grading.records import read_record
from autograder.grading.tasks import find_tasks

from ..support.graded_class import EXERCISES, TOTAL, correct_by_hand, graded_class
from ..support.submissions import SOFTMAX

SLUG = SOFTMAX.slug
DUE = datetime.datetime(2026, 11, 20, 12, tzinfo=datetime.UTC)
DAY = datetime.timedelta(days=1)
NOW = datetime.datetime(2026, 11, 30, tzinfo=datetime.UTC)


@pytest.fixture
def folder(tmp_path: Path) -> ClassFolder:
    """The graded class; ada's came in time, bob's a day and a half late, ivan's three days late; eve's was late according to Canvas."""
    found = graded_class(tmp_path)
    notes = Notes(found.root)
    for student, days in (("ada", -1.0), ("bob", 1.5), ("ivan", 3.0)):
        notes.entries[student, SLUG] = Entry("", (DUE + days * DAY).isoformat(), "folder", at_given=True)
    notes.entries["eve", SLUG] = Entry("", (DUE + 9 * DAY).isoformat(), "canvas", lms_late=True)
    notes.save()
    assert command(found, "due", "day01", DUE.isoformat()).exit_code == 0
    return found


def command(folder: ClassFolder, *arguments: str) -> Ran:
    return CliRunner().invoke(app, [*arguments, "--submitted", str(folder.submitted)])


def read(folder: ClassFolder) -> dict[str, Result]:
    return {r.record.student: r for r in class_results(folder, [SOFTMAX]).results}


def store(folder: ClassFolder, student: str) -> None:
    """What `grade --resume` and `regrade --store` do with a record."""
    task = next(find_tasks(folder.submitted, [SOFTMAX], student))
    with WriterThread(folder) as writer:
        writer.put(task, read_record(folder.records / SLUG / f"{student}.json"))
    assert writer.failures == {}


def in_gradebook(folder: ClassFolder, student: str) -> tuple[datetime.timedelta | None, float | None, float]:
    """(extension, penalty, score) as nbgrader reads them."""
    from nbgrader.api import Gradebook

    with Gradebook(folder.db_url) as gradebook:
        submission = gradebook.find_submission(SLUG, student)
        return submission.extension, submission.late_submission_penalty, submission.score


# Extensions


def test_an_extension_counts_for_its_student_alone(folder):
    assert [read(folder)[s].late for s in ("bob", "ivan")] == ["late by 1 d 12 h", "late by 3 d 0 h"]
    ran = command(folder, "due", "day01", (DUE + 2 * DAY).isoformat(), "--student", "bob")
    assert ran.exit_code == 0, ran.output
    assert ran.stdout.splitlines() == [f"{SLUG}: 2026-11-20 12:00 +0000", f"{SLUG}, bob: 2026-11-22 12:00 +0000"]
    assert [read(folder)[s].late for s in ("bob", "ivan")] == ["", "late by 3 d 0 h"]
    assert in_gradebook(folder, "bob")[0] == 2 * DAY
    assert in_gradebook(folder, "ivan")[0] is None


def test_an_extension_is_taken_back(folder):
    command(folder, "due", "day01", (DUE + 2 * DAY).isoformat(), "--student", "bob")
    assert command(folder, "due", "day01", "none", "--student", "bob").exit_code == 0
    assert read(folder)["bob"].late == "late by 1 d 12 h"
    assert in_gradebook(folder, "bob")[0] is None
    assert deadlines.due_dates(folder.root) == {SLUG: DUE}


def test_what_the_platform_calls_late_is_held_against_an_extension_that_it_does_not_know():
    in_time, too_late, unknown = (
        Entry("", (DUE + days * DAY).isoformat(), "canvas", lms_late=True, at_given=given)
        for days, given in ((1, False), (5, True), (5, False))
    )
    assert lateness(in_time, DUE, DUE + 2 * DAY) == Lateness(False, None, "the time of collecting")
    assert lateness(too_late, DUE, DUE + 2 * DAY) == Lateness(True, 3 * DAY, "the time of collecting")
    assert lateness(unknown, DUE, DUE + 2 * DAY) == Lateness(False, unknown=3 * DAY)
    punctual = Entry("", (DUE + 5 * DAY).isoformat(), "canvas", lms_late=False)
    assert lateness(punctual, DUE, DUE + 2 * DAY) == Lateness(False, None, "Canvas")


def test_the_later_of_the_two_dates_counts(folder):
    command(folder, "due", "day01", (DUE + 2 * DAY).isoformat(), "--student", "ivan")
    command(folder, "due", "day01", (DUE + 4 * DAY).isoformat())  # now the class has more time than ivan had
    assert read(folder)["ivan"].late == ""
    assert in_gradebook(folder, "ivan")[0] == datetime.timedelta(0)


@pytest.mark.parametrize(("first", "message"), [("none", "has no due date"), (DUE.isoformat(), "is due 2026-11-20 12:00 +0000")])
def test_an_extension_needs_a_date_to_extend(folder, first, message):
    command(folder, "due", "day01", first)
    ran = command(folder, "due", "day01", (DUE - DAY).isoformat(), "--student", "bob")
    assert isinstance(ran.exception, CourseError)
    assert message in str(ran.exception)
    assert deadlines.extensions(folder.root) == {}


def test_an_extension_for_nobody_on_the_roster_is_refused(folder):
    (folder.root / "roster.csv").write_text("id,name\nada,Ada\nella,Ella\n")
    for student, message in (("elle", "elle is not in roster.csv; did you mean ella?"), ("xyz", "xyz is not in roster.csv: add a line")):
        ran = command(folder, "due", "day01", (DUE + DAY).isoformat(), "--student", student)
        assert isinstance(ran.exception, CourseError)
        assert message in str(ran.exception)
    assert deadlines.extensions(folder.root) == {}
    assert command(folder, "due", "day01", (DUE + DAY).isoformat(), "--student", "ella").exit_code == 0


def test_an_extension_given_before_anything_is_handed_in_reaches_the_gradebook(folder):
    from nbgrader.api import Gradebook

    deadlines.set_due(folder.root, SOFTMAX, DUE + 2 * DAY, "bob")
    with Gradebook(folder.db_url) as gradebook:
        gradebook.remove_submission(SLUG, "bob")
    assert command(folder, "due", "day01", (DUE + 2 * DAY).isoformat(), "--student", "bob").exit_code == 0  # no such row yet
    store(folder, "bob")
    assert in_gradebook(folder, "bob")[0] == 2 * DAY


def test_a_due_date_set_before_there_is_a_gradebook_is_in_it_after_grading(folder):
    from nbgrader.api import Gradebook

    (folder.root / "gradebook.db").unlink()
    assert command(folder, "due", "day01", DUE.isoformat()).exit_code == 0
    assert not (folder.root / "gradebook.db").exists()
    assert CliRunner().invoke(app, ["regrade", "day01", "--student", "cut", "--store", "--submitted", str(folder.submitted)]).exit_code == 0
    with Gradebook(folder.db_url) as gradebook:
        assert gradebook.find_assignment(SLUG).duedate == DUE.replace(tzinfo=None)


# What lateness costs


@pytest.mark.parametrize(
    ("text", "days", "taken"),
    [
        ("10% a day", 0.1, 1.0), ("10% a day", 1.0, 1.0), ("10% a day", 1.01, 2.0), ("10 % a day, at most 50 %", 9, 5.0),
        ("12.5% a day", 2, 2.5), ("60% a day", 5, 10.0), ("0% a day", 5, 0.0),
    ],
)  # fmt: skip
def test_each_begun_day_costs(text, days, taken):
    assert late.parse_rule(text).penalty(10.0, Lateness(True, days * DAY)) == pytest.approx(taken)


def test_who_is_in_time_pays_nothing_and_who_is_late_says_the_platform_pays_a_day():
    rule = late.parse_rule("10% a day")
    assert [rule.penalty(10, when) for when in (None, Lateness(False), Lateness(True, None, "Canvas"))] == [0, 0, 1]


@pytest.mark.parametrize("text", ["", "10", "10% an hour", "-1% a day", "200% a day", "10% a day, at most 500%", "ten % a day"])
def test_what_is_no_rule_is_one_line(text, tmp_path):
    with pytest.raises(CourseError, match="is not a valid late policy: give"):
        late.parse_rule(text)
    (tmp_path / "late.txt").write_text(text)
    with pytest.raises(CourseError, match=r"late\.txt: "):
        late.late_rule(tmp_path)


def test_a_rule_counts_everywhere_and_at_once(folder):
    assert command(folder, "late", "10% a day, at most 50%").stdout == "late: 10% a day, at most 50%\n"
    bob = read(folder)["bob"]
    before = sum(e.points for e in bob.exercises)
    assert bob.points == pytest.approx(before * 0.8, abs=1e-4)  # the second day has begun
    assert read(folder)["ada"].points == TOTAL
    _, penalty, score = in_gradebook(folder, "bob")
    assert (penalty, score) == (pytest.approx(before * 0.2, abs=1e-4), pytest.approx(before))
    command(folder, "export", "day01", "--to", "csv", "--into", str(folder.root / "exports"))
    with (folder.root / "exports" / "scores.csv").open(newline="") as file:
        assert {row["late"] for row in csv.DictReader(file) if row["student"] == "bob"} == {"late by 1 d 12 h"}


def test_no_regrade_correction_or_extension_leaves_a_wrong_penalty(folder):
    command(folder, "late", "10% a day")
    store(folder, "ivan")  # by itself this takes nbgrader's penalty away
    assert read(folder)["ivan"].penalty > 0
    book_penalties(folder, [SOFTMAX])
    assert in_gradebook(folder, "ivan")[1] == pytest.approx(read(folder)["ivan"].penalty)
    correct_by_hand(folder, "ivan", "entropy", EXERCISES["entropy"])
    assert read(folder)["ivan"].points == pytest.approx(TOTAL * 0.7)
    command(folder, "due", "day01", (DUE + 2 * DAY).isoformat(), "--student", "ivan")
    assert read(folder)["ivan"].points == pytest.approx(TOTAL * 0.9)
    assert in_gradebook(folder, "ivan")[1] == pytest.approx(TOTAL * 0.1)


def test_regrade_keeps_the_rules_penalty_in_the_gradebook(folder):
    command(folder, "late", "10% a day")
    taken = in_gradebook(folder, "bob")[1]
    assert taken
    assert command(folder, "regrade", "day01", "--student", "bob", "--store").exit_code == 0
    assert in_gradebook(folder, "bob")[1] == taken


def test_a_rule_is_taken_back_with_what_it_took(folder):
    command(folder, "late", "10% a day")
    assert "late work costs nothing" in command(folder, "late", "none").stdout
    assert not in_gradebook(folder, "bob")[1]
    assert read(folder)["bob"].penalty == 0


def test_without_a_rule_nbgraders_penalty_stays(folder):
    from nbgrader.api import Gradebook

    with Gradebook(folder.db_url) as gradebook:
        gradebook.find_submission(SLUG, "ada").notebooks[0].late_submission_penalty = 1.5
        gradebook.db.commit()
    assert command(folder, "late", "none").exit_code == 0
    assert command(folder, "late").exit_code == 0
    assert read(folder)["ada"].points == TOTAL - 1.5


# Second hand-ins and corrections


def test_a_correction_stays_when_a_second_hand_in_is_graded_and_is_marked_for_a_second_look(folder):
    from nbgrader.api import Gradebook

    correct_by_hand(folder, "eve", "softmax", 2.5)
    path = folder.submitted / "eve" / SLUG / f"{SLUG}.ipynb"
    path.write_bytes((folder.submitted / "ada" / SLUG / f"{SLUG}.ipynb").read_bytes())
    assert command(folder, "regrade", "day01", "--student", "eve", "--store").exit_code == 0
    eve = {e.exercise: e for e in read(folder)["eve"].exercises}
    assert (eve["softmax"].points, eve["softmax"].automatic) == (2.5, EXERCISES["softmax"])
    assert eve["entropy"].points == EXERCISES["entropy"]
    assert booked(folder.db_url, SOFTMAX)["eve"].by_hand == {"softmax": 2.5}
    with Gradebook(folder.db_url) as gradebook:
        assert gradebook.find_grade("check_softmax", SLUG, SLUG, "eve").needs_manual_grade


def test_the_time_of_a_submission_that_was_never_collected_is_not_known_after_its_due_date(folder):
    assert lateness_in_place(DUE, DUE + 2 * DAY, DUE + 3 * DAY) == Lateness(False, unknown=DAY, collected=False)
    assert lateness_in_place(DUE, DUE + 2 * DAY, DUE + DAY) is None
    assert lateness_in_place(None, None, DUE) is None
    deadlines.set_due(folder.root, SOFTMAX, NOW - 2000 * DAY)
    results = class_results(folder, [SOFTMAX])
    assert {r.record.student: r.late for r in results.results}["blank"] == "not collected; the time of submission is unknown"
    soup = BeautifulSoup(report.html(results, NOW), "html.parser")
    heading = next(h for h in soup.find_all("h3") if h.get_text() == "Unknown time of submission")
    assert [li.get_text() for li in heading.find_next("ul").find_all("li")] == ["blank: not collected", "cut: not collected"]


def test_who_handed_in_nothing_is_named_in_the_report(folder):
    (folder.root / "roster.csv").write_text("id,lms_id,name,email\nada,1,Ada,\nnora,2,<Nora>,\n")
    results = class_results(folder, [SOFTMAX], find_roster(folder.root))
    soup = BeautifulSoup(report.html(results, NOW), "html.parser")
    heading = next(h for h in soup.find_all("h3") if h.get_text() == "Nothing handed in")
    assert heading.find_next("ul").get_text() == "nora, <Nora>"
    assert ClassResults(results.days, results.results).missing(SOFTMAX) == []


def test_the_gradebook_as_nbgrader_reads_it_is_the_gradebook_as_we_read_it(folder):
    """Ours is read in SQL, without nbgrader, whose score holds the extra credit already."""
    from alembic.script import ScriptDirectory
    from nbgrader.api import Gradebook
    from nbgrader.dbutil import ALEMBIC_DIR

    from autograder.gradebook.books.gradebook import schema_version

    correct_by_hand(folder, "eve", "softmax", 0.0, extra=0.25)
    correct_by_hand(folder, "bob", "entropy", None, extra=0.5)
    command(folder, "late", "10% a day")
    ours = booked(folder.db_url, SOFTMAX)
    with Gradebook(folder.db_url) as gradebook:
        for submission in gradebook.assignment_submissions(SLUG):
            grades = {g.name.removeprefix("check_"): g.score for n in submission.notebooks for g in n.grades}
            book = ours.pop(submission.student.id)
            assert book.scores == ({} if submission.student.id == "cut" else pytest.approx(grades))  # a file that cannot be read has none
            assert book.penalty == pytest.approx(submission.late_submission_penalty or 0)
    assert ours == {}
    assert schema_version() == ScriptDirectory(ALEMBIC_DIR).get_current_head()


def test_extensions_are_in_the_table_that_a_person_can_edit(folder):
    deadlines.set_due(folder.root, SOFTMAX, DUE + DAY, "bob")
    assert (folder.root / "due.csv").read_text().splitlines() == [
        "day,due,student", f"{SLUG},2026-11-20T12:00:00+00:00,", f"{SLUG},2026-11-21T12:00:00+00:00,bob",
    ]  # fmt: skip
    (folder.root / "due.csv").write_text(f"day,due\n{SLUG},2026-11-20\n")  # as it was before there were extensions
    assert deadlines.due_dates(folder.root).keys() == {SLUG}
    (folder.root / "due.csv").write_text(f"day,due,student\n{SLUG},2026-11-20,../eve\n")
    with pytest.raises(CourseError, match=r"due.csv, line 2: student id"):
        deadlines.extensions(folder.root)
