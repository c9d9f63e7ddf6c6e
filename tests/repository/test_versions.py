"""The range of versions that the course asks for: its lower bounds are the lowest versions that were tried."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import version

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.version import Version

from autograder import __version__
from autograder.lessons import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
LINES = [line for line in (ROOT / "requirements-lowest.txt").read_text(encoding="utf-8").splitlines() if line and line[0] != "#"]
LOWEST = dict(line.split("==") for line in LINES)
REQUIRED = {wanted.name: wanted for wanted in map(Requirement, PROJECT["dependencies"])}
JOBS = yaml.safe_load((ROOT / ".github" / "workflows" / "anywhere.yml").read_text(encoding="utf-8"))["jobs"]


def test_no_package_of_the_course_is_pinned():
    assert [str(wanted) for wanted in REQUIRED.values() if any(each.operator in ("==", "===", "~=") for each in wanted.specifier)] == []


@pytest.mark.parametrize("name", ["torch", "numpy", "nbgrader", "jupyterlab"])
def test_the_lower_bound_is_the_lowest_version_that_was_tried(name):
    assert [each.version for each in REQUIRED[name].specifier if each.operator == ">="] == [LOWEST[name]]


@pytest.mark.parametrize("name", LOWEST)
def test_the_lowest_versions_and_those_installed_here_are_in_the_range(name):
    assert LOWEST[name] in REQUIRED[name].specifier
    assert Version(version(name)) >= Version(LOWEST[name])
    assert Version(version(name)).base_version in REQUIRED[name].specifier


def test_a_job_installs_the_lowest_and_the_highest_versions():
    job = JOBS["versions"]
    steps = {step["if"]: step["run"] for step in job["steps"] if "if" in step}
    assert f"-c requirements-lowest.txt \"torch=={LOWEST['torch']}+cpu\"" in steps["matrix.versions == 'lowest'"]
    assert "--upgrade-strategy eager" in steps["matrix.versions == 'highest'"]
    assert {each["versions"] for each in job["strategy"]["matrix"]["include"]} == {"lowest", "highest"}


def test_the_course_has_one_version_and_the_changelog_a_heading_for_it():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    heading = re.search(r"^## (\S+), ", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert heading is not None
    assert {PROJECT["version"], cited["version"], heading[1], __version__} == {PROJECT["version"]}


def test_the_page_names_the_lowest_versions_and_those_of_the_lock():
    page = (ROOT / "docs" / "first_hour.md").read_text(encoding="utf-8")
    lock = dict(re.findall(r"^([\w-]+)==([\w.]+)$", (ROOT / "requirements.lock").read_text(encoding="utf-8"), re.MULTILINE))
    for row, versions in (("lowest", LOWEST), ("the lock", lock)):
        cells = re.search(rf"^\| {row} \| 3\.11 \| (.*) \|$", page, re.MULTILINE)
        assert cells is not None
        assert cells[1].split(" | ") == [versions[name] for name in ("torch", "numpy", "nbgrader", "jupyterlab")]
