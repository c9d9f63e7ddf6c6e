"""Where others find the course's repository and its site. Where neither the course nor its surroundings say so, no page says it either."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

from autograder.base.errors import CourseError
from autograder.lessons import ROOT

PROJECT = ROOT / "pyproject.toml"


def repository(project: Path = PROJECT) -> str:
    """Without a slash at its end; empty where it is not known."""
    return _told("repository", "COURSE_REPOSITORY", project).rstrip("/")


def site(project: Path = PROJECT) -> str:
    """With a slash at its end, so that a page's path can follow; empty where it is not known."""
    found = _told("site", "COURSE_SITE", project).rstrip("/")
    return found and f"{found}/"


def _told(name: str, variable: str, project: Path) -> str:
    """From the environment, where a forge says so, or else from `[project.urls]`. Raises CourseError for what is no address."""
    urls = tomllib.loads(project.read_text(encoding="utf-8"))["project"].get("urls", {})
    found = os.environ.get(variable) or urls.get(name, "")
    if found and not found.startswith(("https://", "http://")):
        raise CourseError(f"{variable}, or `{name}` in [project.urls] of {project.name}, must be an address (https://...), got {found!r}")
    return str(found)
