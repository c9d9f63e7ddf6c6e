"""README and docs tell what there is: the days, the commands, the files they link to."""

import re
import subprocess
import tomllib
from collections import Counter
from pathlib import Path

import pytest
import yaml

from autograder import attack_suite
from autograder.cli import app
from autograder.course_table import known_topics
from autograder.lessons import syllabus
from autograder.specimen_files import SPECIMENS, find_specimens

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def test_the_readme_lists_every_day_that_is_ready_and_no_other():
    text = (ROOT / "README.md").read_text()
    listed = {int(n): (title, link) for n, title, link in re.findall(r"^\| (\d+) \| \[([^\]]+)\]\(([^)]+)\) \|", text, re.MULTILINE)}
    assert listed == {day.number: (day.title, f"course/{day.slug}/lesson.md") for day in syllabus() if day.ready}


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_somewhere(page):
    prose = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(), flags=re.DOTALL)  # examples of links are no links
    for target in re.findall(r"\]\(([^)#\s]+)\)", prose):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target


def test_the_commands_that_are_named_exist():
    known = {c.name or c.callback.__name__ for c in app.registered_commands}
    for page in PAGES:
        for block in re.findall(r"```bash\n(.*?)```", page.read_text(), re.DOTALL):
            for command in re.findall(r"^\s*autograder (\w+)", block, re.MULTILINE):
                assert command in known, f"{page.name}: autograder {command}"


def test_licence_and_version_are_the_same_wherever_they_are_told():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    cited = (ROOT / "CITATION.cff").read_text()
    assert f"\nversion: {project['version']}\n" in cited
    assert f"\nlicense: {project['license']}\n" in cited
    assert project["version"] in (ROOT / "CHANGELOG.md").read_text()
    assert "Apache License\n" in (ROOT / "LICENSE").read_text()


def test_workflows_call_what_there_is():
    for path in (ROOT / ".github" / "workflows").glob("*.yml"):
        runs = [step["run"] for job in yaml.safe_load(path.read_text())["jobs"].values() for step in job["steps"] if "run" in step]
        assert runs, path.name
        for run in runs:
            for target in re.findall(r"make (\w+)", run):
                assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE), f"{path.name}: make {target}"
            for script in re.findall(r"bash (\S+)", run):
                assert (ROOT / script).is_file(), f"{path.name}: {script}"


def test_make_targets_that_are_named_exist():
    makefile = (ROOT / "Makefile").read_text()
    for page in PAGES:
        for target in set(re.findall(r"`make (\w+)`|^make (\w+)", page.read_text(), re.MULTILINE)):
            name = next(filter(None, target))
            assert re.search(rf"^{name}:", makefile, re.MULTILINE), f"{page.name}: make {name}"


def test_no_file_speaks_of_the_place_it_was_made_in():
    """The project speaks of itself alone: no path of the machine it was written on."""
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    for name in filter(None, tracked):
        path = ROOT / name
        if path.suffix in (".png", ".safetensors") or not path.is_file() or path == Path(__file__):
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        assert "/work/main" not in text, name
        assert "/root/" not in text, name


def test_the_number_of_specimens_is_the_one_the_readme_states():
    versions = Counter(listed.right for listed in find_specimens(SPECIMENS, known_topics()))
    right, wrong, attacks = versions[True], versions[False], len(attack_suite.names())
    stated = f"hold {right:,} right and {wrong:,} wrong versions, and {attacks} attacks"
    assert stated in (ROOT / "README.md").read_text(), stated
