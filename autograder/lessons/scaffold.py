"""A new day for a class: a lesson, reference solution, checks and specimens that pass certification, to be replaced step by step."""

from __future__ import annotations

import keyword
from pathlib import Path

from ..base import own
from ..base.errors import CourseError
from .syllabus import syllabus

FIRST_NUMBER = 101
"""The number of a class's first own day; the course numbers its days from 1."""

ROW = '''[[day]]
number = {number}
topic = "{topic}"
title = "{title}"
question = "What does squaring do to a distribution?"
minutes = 60
difficulty = "easy"
prerequisites = ["softmax"]
'''
LESSON = '''# {title}

{{{{ header }}}}

**Why this lesson.** Say here which question the day answers.

```python setup
import torch
from torch import Tensor

from autograder.student import check, earlier, hint, if_solved, progress

softmax = earlier("softmax").softmax
```

## 1. Squares

*After this section you can make a distribution sharper.*

Squaring every probability and dividing by the sum of the squares keeps the order and makes the gaps larger.
By hand: 0.5, 0.3 and 0.2 have the squares 0.25, 0.09 and 0.04, with the sum 0.38; the result is 0.658, 0.237 and 0.105.

<details class="hint" data-exercise="{topic}"><summary>Hint 1: a nudge</summary>

Each row is a distribution of its own.

</details>

<details class="hint" data-exercise="{topic}"><summary>Hint 2: the idea</summary>

`sum(dim=-1, keepdim=True)` gives each row's sum in a shape that divides the row.

</details>

<details class="hint" data-exercise="{topic}"><summary>Hint 3: almost the code</summary>

`squares / squares.sum(dim=-1, keepdim=True)`

</details>

```python exercise="{topic}" points=4
```

```python
if if_solved("{topic}"):
    print({topic}(softmax(torch.tensor([2.0, 1.0, 0.0]))))
```

## What to take away

Say here in one sentence what to remember.

```python
progress()
```
'''
SOLUTION = '''"""{title}: say here what the day's functions do."""

from torch import Tensor


def {topic}(probs: Tensor) -> Tensor:
    """Return the squares of the probabilities, divided by their sum, over the last dimension.

    probs (..., V) -> probs (..., V), same dtype; every row sums to 1. The input is not changed.
    """
    ### BEGIN SOLUTION
    squares = probs * probs
    return squares / squares.sum(dim=-1, keepdim=True)
    ### END SOLUTION
'''
VISIBLE = '''"""Checks that students may read."""

import torch

from autograder.authoring import checks, close


@checks("{topic}")
def test_three_probabilities_by_hand(student):
    """three probabilities, worked out by hand"""
    close(student.{topic}(torch.tensor([0.5, 0.3, 0.2])), torch.tensor([0.25, 0.09, 0.04]) / 0.38, atol=1e-6)
'''
HIDDEN = '''"""Checks that students may not read: fresh numbers in every run."""

import torch

from autograder.authoring import checks, close


@checks("{topic}")
def test_rows_of_random_probabilities(student, rng):
    """rows of random probabilities"""
    logits = torch.randn(3, 5, generator=rng)
    close(student.{topic}(logits.softmax(dim=-1), _unchanged=True), (2 * logits).softmax(dim=-1), atol=1e-6)
'''
SPECIMENS = '''# Versions of {topic}, right and wrong.


# %% right_{topic}_of_logarithms
# RIGHT: squares by doubling the logarithms
def {topic}(probs):
    return (2 * probs.log()).softmax(dim=-1)


# %% wrong_{topic}_without_the_sum
# WRONG: does not divide by the sum
def {topic}(probs):
    return probs * probs
'''


def write_day(topic: str, folder: Path) -> list[Path]:
    """Write a new day into a class's own folder and add it to that folder's syllabus. Return the files' paths. Raises CourseError."""
    if not (topic.isidentifier() and topic.islower() and topic.isascii()) or keyword.iskeyword(topic):
        raise CourseError(f"{topic!r} cannot name a day: use lower-case letters, digits and _, as in eta_sampling")
    own.use(folder if folder.is_dir() else None)
    days = syllabus()
    if any(day.topic == topic for day in days):
        raise CourseError(f"there is a day {topic!r} already: choose another name")
    number = max(FIRST_NUMBER, days[-1].number + 1)
    words = {"number": number, "topic": topic, "title": topic.replace("_", " ").capitalize()}
    files = {
        folder / "course" / f"day{number:02d}_{topic}" / "lesson.md": LESSON,
        folder / "solutions" / f"{topic}.py": SOLUTION,
        folder / "checks" / f"test_{topic}.py": VISIBLE,
        folder / "hidden" / f"test_{topic}.py": HIDDEN,
        folder / "specimens" / topic / f"{topic}.py": SPECIMENS,
    }
    if there := next((path for path in files if path.exists()), None):
        raise CourseError(f"{there} exists already: move it away, or choose another name")
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.format(**words), encoding="utf-8")
    table = folder / own.SYLLABUS
    before = f"{table.read_text(encoding='utf-8').rstrip()}\n\n" if table.exists() else ""
    table.write_text(before + ROW.format(**words), encoding="utf-8")
    return [table, *files]
