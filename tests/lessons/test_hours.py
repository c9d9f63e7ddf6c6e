"""The stated minutes of a day are those that its lesson counts: words, exercises and questions."""

import pytest

from autograder.lessons import Day, find_day, lesson, syllabus
from autograder.lessons.hours import MINUTES_A_QUESTION, WORDS_A_MINUTE, Hours, _added, _counted, hours

LESSON = """
# A shelf

{{ header }}

One two three, and [a fourth](https://example.org/not/a/word) with <code>tags</code>.

![Not read.](figures/none.svg)

```python setup
import math  # about 90 minutes
```

## 1. Exercises

*About 2 minutes each · difficulty 1 of 3*

<details class="hint" data-exercise="put"><summary>Hint 1: a nudge</summary>

Not read.

</details>

```python exercise="put" points=1
```

```python exercise="take" points=1
```

### A question

*About 5 minutes · outside the points · difficulty 2 of 3*

<details><summary>The answer</summary>

Not read.

```text
# not a heading
```

</details>

## 2. More

*Optional · about 30 minutes.*

### A part of it

*About 20 minutes · difficulty 3 of 3*

## Challenge: more of it

*Outside the points · difficulty 3 of 3*

## Write the test

*Outside the points and the day's minutes · about 15 minutes*

## 3. Beyond

This section is an appendix.

## Questions

<details><summary>1. Why?</summary>

Because.

</details>

## Further reading

- A book.
"""

SYLLABUS = """
[[day]]
number = 1
topic = "shelf"
title = "A shelf"
question = "Where is it?"
minutes = 30
difficulty = "easy"
"""

ANSWERS = "\n\n".join(f"def {name}():\n    ### BEGIN SOLUTION\n    return None\n    ### END SOLUTION" for name in ("put", "take"))


def test_code_folds_links_and_optional_sections_do_not_count_as_reading(tmp_path):
    (tmp_path / "course" / "day01_shelf").mkdir(parents=True)
    (tmp_path / "solutions").mkdir()
    (tmp_path / "course" / "syllabus.toml").write_text(SYLLABUS)
    (tmp_path / "course" / "day01_shelf" / "lesson.md").write_text(LESSON)
    (tmp_path / "solutions" / "shelf.py").write_text(f'"""A shelf."""\n\n\n{ANSWERS}\n')
    (day,) = syllabus(tmp_path)
    title, intro, one, stated, question, marked = 2, 8, 2, 8, 2, 10
    assert hours(day) == Hours(words=title + 1 + intro + one + stated + question + marked + 1, exercises=2 * 2 + 5, questions=2)
    assert Hours(words=10 * WORDS_A_MINUTE, exercises=9, questions=2).minutes == 19 + 2 * MINUTES_A_QUESTION


@pytest.mark.parametrize("day", [day for day in syllabus() if day.ready], ids=lambda day: day.slug)
def test_the_stated_minutes_are_within_a_fifth_of_the_counted_ones(day: Day):
    counted = hours(day)
    assert 0.8 * counted.minutes <= day.minutes <= 1.2 * counted.minutes, (
        f"{day.slug} states {day.minutes} minutes in course/syllabus.toml, but {counted} takes {counted.minutes:.0f}: correct the table"
    )


@pytest.mark.parametrize("day", [day for day in syllabus() if day.ready and hours(day).minutes > 150], ids=lambda day: day.slug)
def test_a_day_of_more_than_150_minutes_names_its_must_read_sections_and_its_stops(day: Day):
    text = day.lesson_path.read_text(encoding="utf-8")
    assert "**must-read sections**" in text
    assert "day may end here" in text


def test_the_two_sittings_of_day_13_are_as_long_as_its_header_says():
    day = find_day("paging")
    sections = _counted(lesson(day))
    half_time = next(i for i, section in enumerate(sections) if section.text.startswith("## 6. "))
    first, second = (5 * round(_added(part).minutes / 5) for part in (sections[:half_time], sections[half_time:]))
    said = f"sections 1 to 5 are {first} minutes, and sections 6 to 8 with the ten questions are {second}."
    assert said in day.lesson_path.read_text(encoding="utf-8")
