"""The first page's map, steps and ways say what the syllabus and the lessons hold."""

import re
from pathlib import Path

import pytest

from autograder.base.errors import CourseError
from autograder.lessons import lesson, start_page, syllabus
from autograder.lessons.notebooks import start_bytes

DAY = """
[[day]]
number = {number}
topic = "t{number}"
title = "T{number}"
question = "?"
minutes = {minutes}
difficulty = "easy"
prerequisites = [{needs}]
"""
WAY = '[[way]]\ntitle = "W"\ngives = "g"\nsittings = {sittings}\nsitting = "day"\n{days}'


def course(tmp_path: Path, minutes: list[int], more: str, needs: dict[int, str] | None = None) -> Path:
    days = [DAY.format(number=n, minutes=m, needs=(needs or {}).get(n, "")) for n, m in enumerate(minutes, start=1)]
    (tmp_path / "course").mkdir()
    (tmp_path / "course" / "syllabus.toml").write_text("".join(days) + more)
    return tmp_path


def test_there_are_eight_steps_and_each_day_writes_a_part_of_one():
    steps = start_page.steps()
    assert len(steps) == 8
    assert {topic for step in steps for topic in step.written} == {day.topic for day in syllabus()}


def test_what_a_step_names_is_an_exercise_of_that_day():
    days = {day.topic: day for day in syllabus()}
    for step in start_page.steps():
        for topic, names in step.written.items():
            assert names, (step.title, topic)
            assert set(names) <= {exercise.name for exercise in lesson(days[topic]).exercises}, (step.title, topic)


def test_the_three_ways_are_those_of_the_syllabus():
    whole, weekend, evening = start_page.ways()
    assert whole.days == tuple(syllabus())
    assert [day.number for day in weekend.days] == [1, 5, 7, 10]
    assert [day.number for day in evening.days] == [5]
    assert whole.borrowed == []


def test_a_day_asks_for_no_other_earlier_day_than_its_way_says():
    """What stands under "the course stands in for" is what the notebooks will say."""
    for way in start_page.ways():
        asked = {topic for day in way.days for topic in re.findall(r'earlier\("(\w+)"\)', lesson(day).setup)}
        assert asked - {day.topic for day in way.days} == {day.topic for day in way.borrowed}, way.title


def test_a_timetable_keeps_the_order_and_evens_out_the_minutes(tmp_path):
    root = course(tmp_path, [60, 60, 120, 30, 90], WAY.format(sittings=3, days=""))
    (way,) = start_page.ways(root)
    assert [[day.number for day in part] for part in way.timetable] == [[1, 2], [3], [4, 5]]


def test_hours_are_given_from_the_shortest_sitting_to_the_longest(tmp_path):
    root = course(tmp_path, [90, 120, 130], WAY.format(sittings=2, days='days = ["t1", "t3"]'), needs={3: '"t1", "t2"'})
    table = start_page.table_of_ways(lambda day: None, root)
    assert "| **W** | 1, 3 | 1 h 30 to 2 h 10 on each of 2 days | g | Day 2 (T2) |" in table


def test_more_sittings_than_days_are_refused(tmp_path):
    root = course(tmp_path, [90], WAY.format(sittings=2, days=""))
    with pytest.raises(CourseError, match="'W' has 1 days for 2 sittings"):
        start_page.ways(root)


def test_the_map_says_what_is_to_come(tmp_path):
    root = course(tmp_path, [90, 120], "", needs={2: '"t1"'})
    (root / "course" / "day01_t1").mkdir()
    (root / "course" / "day01_t1" / "lesson.md").write_text("")
    assert start_page.table_of_days(root=root).split("\n")[2:] == [
        "| 1 | [T1](day01_t1/day01_t1.ipynb) | ? | 90 |  | easy |",
        "| 2 | T2 | ? | 120 | 1 | easy, to come |",
    ]


def test_the_start_page_is_filled():
    text = start_bytes().decode()
    assert "{{" not in text
    for step in start_page.steps():
        assert f"**{step.title}.**" in text
    for way in start_page.ways():
        assert f"**{way.title}**" in text
