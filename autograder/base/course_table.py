"""The part of the syllabus that the grader needs: topics in order, sources of earlier days."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

import solutions
from course.kit.paths import ROOT

from . import own
from .errors import CourseError

SYLLABUS = ROOT / "course" / "syllabus.toml"


def known_topics() -> tuple[str, ...]:
    """Return all topics that have a solutions module, in the order of days: first the course's, then the class's own."""
    return (*topics_of_course(), *own.topics())


@cache
def topics_of_course() -> tuple[str, ...]:
    """Return the topics of the course's syllabus that have a solutions module, in the order of days."""
    days = tomllib.loads(SYLLABUS.read_text(encoding="utf-8"))["day"]
    return tuple(d["topic"] for d in sorted(days, key=lambda d: d["number"]) if path_in_course(d["topic"]).exists())


def check_own_names() -> None:
    """Check that each file of the class's own hidden checks is named test_<topic>.py, for a known topic. Raises CourseError."""
    for path in own.files():
        named = path.stem.startswith("test_") and path.stem.removeprefix("test_") in known_topics()
        if path.parent.name == "hidden" and path.suffix == ".py" and not named:
            raise CourseError(f"{path} is named for no topic: name it test_<topic>.py; topics are {', '.join(known_topics())}")


def solution_path(topic: str) -> Path:
    return own.file_of(topic, "solutions") or path_in_course(topic)


def path_in_course(topic: str) -> Path:
    return Path(solutions.__file__).parent / f"{topic}.py"


def solution_source(topic: str) -> str:
    try:
        return solution_path(topic).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise CourseError(f"no topic {topic!r}: choose one of {', '.join(known_topics())}") from None


@cache
def _earlier(topic: str) -> tuple[tuple[str, str], ...]:
    topics = topics_of_course()
    before = topics[: topics.index(topic)] if topic in topics else topics
    return tuple((t, solution_source(t)) for t in before)


def earlier_sources(topic: str) -> dict[str, str]:
    """Return {topic: source of the reference} for every day before `topic`. A worker is given no other solutions."""
    mine = own.topics()
    before = mine[: mine.index(topic)] if topic in mine else ()
    return {**dict(_earlier(topic)), **{each: solution_source(each) for each in before}}
