"""The public addresses of the course's repository and site. Pages show them if the course or its environment names them."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

from autograder.base.errors import CourseError
from autograder.lessons import ROOT

PROJECT = ROOT / "pyproject.toml"


def repository(project: Path = PROJECT) -> str:
    """Return the repository's address without a slash at its end; empty if it is unknown."""
    return _address("repository", "COURSE_REPOSITORY", project).rstrip("/")


def site(project: Path = PROJECT) -> str:
    """Return the site's address with a slash at its end, so a page's path can follow; empty if it is unknown."""
    found = _address("site", "COURSE_SITE", project).rstrip("/")
    return found and f"{found}/"


def _address(name: str, variable: str, project: Path) -> str:
    """Return an address from the environment (a forge sets it), else from `[project.urls]`. Raises CourseError if it is invalid."""
    urls = tomllib.loads(project.read_text(encoding="utf-8"))["project"].get("urls", {})
    found = os.environ.get(variable) or urls.get(name, "")
    if found and not found.startswith(("https://", "http://")):
        raise CourseError(f"{variable}, or `{name}` in [project.urls] of {project.name}, must be an address (https://...), got {found!r}")
    return str(found)
