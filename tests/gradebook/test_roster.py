"""A class's beginning: what formgrader lists, and a roster from what Canvas and Moodle export, with nothing lost that stood there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from autograder import lessons
from autograder.base.errors import CourseError
from autograder.cli import app
from autograder.gradebook.books import gradebook
from autograder.gradebook.policy.roster import find_roster

CANVAS = """\ufeffStudent,ID,SIS User ID,SIS Login ID,Section,Day 01 Softmax (12)
    Points Possible,,,,,10
"Lovelace, Ada",4711,S1,ada@uni.edu,A,
"Hopper, Grace",4712,S2,grace@uni.edu,B,9
"Student, Test",1,,x,A,
"""
WORKSHEET = """Identifier,Full name,Email address,Status,Grade
Participant 77,Ada Lovelace,ada@uni.edu,Submitted,
Participant 78,Jun Ōe,jun@uni.edu,No submission,
"""
PARTICIPANTS = """First name,Last name,ID number,Email address
Ada,Lovelace,S1,ada@uni.edu
Grace,Hopper,S2,grace@uni.edu
"""


def imported(root: Path, *texts: str):
    files = []
    for number, text in enumerate(texts):
        files.append(root / f"list{number}.csv")
        files[-1].write_text(text, encoding="utf-8")
    return CliRunner().invoke(app, ["roster", *map(str, files), "--submitted", str(root / "submitted")])


def people(root: Path) -> dict[str, tuple[str, str, str]]:
    found = find_roster(root)
    assert found is not None
    return {person.id: (person.lms_id, person.name, person.email) for person in found.by_id.values()}


def test_canvas_s_gradebook_makes_a_roster(tmp_path):
    ran = imported(tmp_path, CANVAS)
    assert ran.exit_code == 0, ran.output
    assert "2 people, 2 of them new" in ran.output
    assert people(tmp_path) == {"ada": ("4711", "Lovelace, Ada", ""), "grace": ("4712", "Hopper, Grace", "")}
    ada = find_roster(tmp_path).by_id["ada"]
    assert (ada.sis_id, ada.login, ada.section) == ("S1", "ada@uni.edu", "A")


def test_moodle_s_worksheet_and_participants_make_one(tmp_path):
    imported(tmp_path, WORKSHEET)
    assert people(tmp_path) == {"ada": ("77", "Ada Lovelace", "ada@uni.edu"), "jun": ("78", "Jun Ōe", "jun@uni.edu")}
    ran = imported(tmp_path, PARTICIPANTS)  # ada is known by her address
    assert "2 people, 1 of them new" in ran.output
    assert people(tmp_path).keys() == {"ada", "jun", "grace"}


def test_lines_that_are_there_stay_and_what_they_lack_is_filled_in(tmp_path):
    (tmp_path / "roster.csv").write_text("id,lms_id,name,email\ncountess,4711,Ada,\nzoe,,Zoë,zoe@uni.edu\n", encoding="utf-8")
    imported(tmp_path, CANVAS)
    assert people(tmp_path) == {
        "countess": ("4711", "Ada", ""), "zoe": ("", "Zoë", "zoe@uni.edu"), "grace": ("4712", "Hopper, Grace", ""),
    }  # fmt: skip
    assert find_roster(tmp_path).by_id["countess"].section == "A"
    before = (tmp_path / "roster.csv").read_text(encoding="utf-8")
    assert "0 of them new" in imported(tmp_path, CANVAS).output
    assert (tmp_path / "roster.csv").read_text(encoding="utf-8") == before


def test_who_has_handed_in_keeps_the_folder_s_name(tmp_path):
    (tmp_path / "submitted" / "lovelaceada_4711").mkdir(parents=True)
    imported(tmp_path, CANVAS)
    assert people(tmp_path).keys() == {"lovelaceada_4711", "grace"}


def test_a_file_that_is_no_list_is_one_line_and_changes_nothing(tmp_path):
    ran = imported(tmp_path, "a,b\n1,2\n")
    assert isinstance(ran.exception, CourseError)
    assert "is not a list of a supported platform. Canvas: the gradebook's export" in str(ran.exception)
    assert "\n" not in str(ran.exception)
    assert not (tmp_path / "roster.csv").exists()


def test_two_people_of_one_id_are_named(tmp_path):
    ran = imported(tmp_path, CANVAS + '"Other, Ada",9,S9,ada@other.edu,A,\n')
    assert isinstance(ran.exception, CourseError)
    assert "Other, Ada and somebody else would both get the id ada" in str(ran.exception)


@pytest.mark.parametrize("text", [CANVAS.replace(",", ";"), CANVAS.replace("\n", "\r\n")])
def test_other_spreadsheets_forms_are_read(tmp_path, text):
    imported(tmp_path, re.sub(r'"(\w+); (\w+)"', r'"\1, \2"', text))
    assert people(tmp_path).keys() == {"ada", "grace"}


def test_a_new_class_has_a_source_of_every_day_without_which_formgrader_lists_nothing(tmp_path, monkeypatch):
    built = []
    monkeypatch.setattr(lessons, "build_source", lambda day: built.append(day.slug))
    assert CliRunner().invoke(app, ["class", str(tmp_path / "class2026")]).exit_code == 0
    assert built == [day.slug for day in lessons.syllabus() if day.ready]
    monkeypatch.setattr(gradebook, "source_path", lambda day: tmp_path / "is" / "not")
    monkeypatch.setattr(gradebook, "build_source", lambda day: built.append(f"again {day.slug}"))
    gradebook.enter_day(lessons.find_day("day01"), f"sqlite:///{tmp_path / 'gradebook.db'}")
    assert built[-1] == "again day01_softmax"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("ada,101,Lovelace, Ada,a@x.org\n", "line 2: more fields than columns in the first line; put a name with a comma in quotes"),
        ("ada,1,Ada,a@x.org\nbea,2,Bea,A@x.org\n", "line 3: the email A@x.org is already in line 2, apart from upper and"),
    ],
    ids=["a comma in a name", "one address twice"],
)
def test_a_roster_that_would_lose_something_is_refused(tmp_path, text, says):
    (tmp_path / "roster.csv").write_text(f"id,lms_id,name,email\n{text}", encoding="utf-8")
    with pytest.raises(CourseError) as refused:
        find_roster(tmp_path)
    assert says in str(refused.value)


def test_blanks_around_the_names_of_columns_do_not_count(tmp_path):
    (tmp_path / "roster.csv").write_text(" id , lms_id ,name, email\nada,101,Ada,a@x.org\n", encoding="utf-8")
    assert people(tmp_path) == {"ada": ("101", "Ada", "a@x.org")}


def test_a_roster_that_is_not_there_is_named(tmp_path):
    with pytest.raises(CourseError, match=r"^there is no file .*mine\.csv: give the path of a roster$"):
        find_roster(tmp_path, tmp_path / "mine.csv")


def test_a_first_line_that_is_no_csv_is_one_line(tmp_path):
    (tmp_path / "roster.csv").write_text("id," + "x" * 200_000 + "\nada,1\n", encoding="utf-8")
    with pytest.raises(CourseError, match=r"cannot be read as a roster \(field larger than field limit"):
        find_roster(tmp_path)
