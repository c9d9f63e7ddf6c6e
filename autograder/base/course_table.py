"""The part of the syllabus that the grader needs: topics in order, sources of earlier days."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

import solutions
from course.kit.paths import ROOT

from .errors import CourseError

SYLLABUS = ROOT / "course" / "syllabus.toml"


@cache
def known_topics() -> tuple[str, ...]:
    """Return all topics of the syllabus whose solutions exist, in the order of days."""
    days = tomllib.loads(SYLLABUS.read_text(encoding="utf-8"))["day"]
    return tuple(d["topic"] for d in sorted(days, key=lambda d: d["number"]) if solution_path(d["topic"]).exists())


def solution_path(topic: str) -> Path:
    return Path(solutions.__file__).parent / f"{topic}.py"


def solution_source(topic: str) -> str:
    try:
        return solution_path(topic).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise CourseError(f"no topic {topic!r}; there are {', '.join(known_topics())}") from None


@cache
def _earlier(topic: str) -> tuple[tuple[str, str], ...]:
    topics = known_topics()
    before = topics[: topics.index(topic)] if topic in topics else topics
    return tuple((t, solution_source(t)) for t in before)


def earlier_sources(topic: str) -> dict[str, str]:
    """Return the source of the reference for every day before `topic`: what a worker is given, and nothing else."""
    return dict(_earlier(topic))
