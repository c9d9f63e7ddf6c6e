"""Each day has its formulas on the cheat sheet, and all of its numbers on the page of numbers."""

import re

from autograder.base.datafiles import hand_computed
from autograder.site import cheat_sheet


def test_every_ready_day_has_formulas_and_all_of_its_numbers():
    formulas, numbers = cheat_sheet.page(), cheat_sheet.numbers_page()
    for day in cheat_sheet.ready():
        section = formulas.split(f"## Day {day.number} ·")[1].split("## Day")[0]
        assert "| what | formula | check |" in section
        assert section.count("autograder/checking/checks/") >= 1, day.topic
        for name in hand_computed(day.topic):
            assert f"**{name.replace('_', ' ')}.** " in numbers.split(f"## Day {day.number} ·")[1].split("## Day")[0]


def test_no_number_names_a_check_twice():
    for line in cheat_sheet.numbers_page().split("\n"):
        links = re.findall(r"\[([^\]]+)\]\(", line) if line.startswith("- [") else []
        assert len(links) == len(set(links)), line
