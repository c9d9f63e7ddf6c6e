"""The cheat sheet is the one that would be made today, and names a formula for every exercise's day."""

from autograder import cheat_sheet
from autograder.datafiles import hand_computed
from autograder.lessons import syllabus


def test_the_committed_page_is_the_one_made_today():
    assert cheat_sheet.PAGE.read_text(encoding="utf-8") == cheat_sheet.page(), "run: python -m autograder.cheat_sheet"


def test_every_ready_day_has_formulas_and_all_of_its_numbers():
    page = cheat_sheet.page()
    for day in syllabus():
        if day.ready:
            section = page.split(f"## Day {day.number} ·")[1].split("## Day")[0]
            assert "| what | formula | check |" in section
            assert section.count("autograder/checks/") >= 1, day.topic
            for name in hand_computed(day.topic):
                assert f"| {name.replace('_', ' ')}: " in section
