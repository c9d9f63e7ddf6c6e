"""The minutes that a lesson takes a reader alone, counted from its source; a test compares them with the syllabus.

The count includes the words of the prose, the minutes stated at the exercises, and the folded questions. A question's minutes include
its answer; an exercise's minutes include its docstring and hints. Code, waiting for cells, and sections outside the day's minutes do
not count: challenges, optional sections, appendices, and those that say so in their first line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from autograder.lessons.markdown import Lesson, lesson
from autograder.lessons.syllabus import Day

WORDS_A_MINUTE = 180
MINUTES_A_QUESTION = 1.5

_FENCE = re.compile(r"(?ms)^ {0,3}(`{3,}|~{3,}).*?^ {0,3}\1[`~]*[ \t]*$")
_FOLD = re.compile(r"(?s)<details>.*?</details>|<details class=.*?</details>")
_HEADING = re.compile(r"(?m)^(?=#{1,4} )")
_NOT_PROSE = re.compile(r"!\[[^\]]*\]\([^)]*\)|\]\([^)]*\)|<[^>]*>")
_STATED = re.compile(r"(?i)\babout (\d+) minutes( each)?")
_BESIDE = re.compile(
    r"(?m)^(?:#+ (?:Challenge|Extra|Further reading)|\*Optional|\*Outside the points and the day's minutes|This section is an appendix)\b"
)


@dataclass
class _Section:
    """A heading and the text below it, without code. exercises: the number of functions that students write in this section."""

    text: str
    exercises: int = 0

    @property
    def level(self) -> int:
        return len(self.text) - len(self.text.lstrip("#"))

    @property
    def beside(self) -> bool:
        """Return True if the section says that the day's minutes do not include it."""
        return bool(_BESIDE.search(_FOLD.sub("", self.text)))


@dataclass(frozen=True)
class Hours:
    """A lesson's counts.

    words: the number of words of prose. exercises: the minutes stated for exercises. questions: the number of folded questions, including
    the ten at the end.
    """

    words: int
    exercises: int
    questions: int

    @property
    def minutes(self) -> float:
        return self.words / WORDS_A_MINUTE + self.exercises + MINUTES_A_QUESTION * self.questions


def hours(day: Day) -> Hours:
    """Return the day's counts. Raises CourseError if its lesson is wrong."""
    return _added(_counted(lesson(day)))


def _added(sections: list[_Section]) -> Hours:
    words = exercises = questions = 0
    for section in sections:
        questions += section.text.count("<details>")
        prose = _NOT_PROSE.sub(" ", _FOLD.sub("", section.text))
        words += sum(bool(re.search(r"\w", word)) for word in prose.split())
        exercises += sum(int(stated) * (section.exercises if each else 1) for stated, each in _STATED.findall(prose))
    return Hours(words, exercises, questions)


def _counted(lesson: Lesson) -> list[_Section]:
    """Return the sections that belong to the day's minutes. A section that does not is left out with all its subsections."""
    counted: list[_Section] = []
    left_out = 0  # the level of the section that is left out at the moment
    for section in _sections(lesson):
        if section.level <= left_out:
            left_out = 0
        if section.beside and not left_out:
            left_out = section.level
        if not left_out:
            counted.append(section)
    return counted


def _sections(lesson: Lesson) -> list[_Section]:
    found = [_Section("")]
    for cell in lesson.cells:
        if cell.role == "exercise":
            found[-1].exercises += 1
        elif cell.role == "text":
            first, *others = _HEADING.split(_FENCE.sub("", cell.source))
            found[-1].text += "\n" + first if first.strip() else ""
            found.extend(_Section(text) for text in others)
    return found
