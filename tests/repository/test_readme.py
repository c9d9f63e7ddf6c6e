"""README and docs tell what there is: the days, the commands, the files they link to."""

import inspect
import json
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import typer
import yaml

from autograder.base.course_table import known_topics
from autograder.base.errors import CourseError
from autograder.checking.runner import load_checks
from autograder.cli import app
from autograder.lessons import syllabus
from autograder.site import readme

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
SAID = [*PAGES, *sorted((ROOT / "course").glob("*/*.md"))]


def test_the_readme_lists_every_day_that_is_ready_and_no_other():
    text = (ROOT / "README.md").read_text()
    listed = {int(n): (title, link) for n, title, link in re.findall(r"^\| (\d+) \| \[([^\]]+)\]\(([^)]+)\) \|", text, re.MULTILINE)}
    assert listed == {day.number: (day.title, f"course/{day.slug}/{day.slug}.ipynb") for day in syllabus() if day.ready}


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_somewhere(page):
    prose = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(), flags=re.DOTALL)  # examples of links are no links
    for target in re.findall(r"\]\(([^)#\s]+)\)", prose) + re.findall(r'\b(?:src|srcset)="([^"]+)"', prose):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_what_moves_has_words_and_a_still_for_who_asks_for_less_motion(page):
    for picture in re.findall(r"<picture>.*?</picture>|<img[^>]*>", page.read_text(), re.DOTALL):
        assert re.search(r'alt="[^"]{40,}"', picture), picture
        if ".webp" in picture:
            assert re.search(r'<source media="\(prefers-reduced-motion: reduce\)" srcset="[^"]+\.png">\s*<img', picture), picture


def test_pictures_that_move_weigh_little():
    moving = sorted((ROOT / "docs" / "images").glob("*.webp"))
    assert moving
    for path in moving:
        assert path.stat().st_size < 1.5e6, path.name


def command_lines(page, begins):
    """Command lines that begin so, in a block or in a line of prose: [(its next word, its options)]."""
    lines = re.findall(rf"(?:^|`)\s*{begins}([\w./-]+)([^`\n#]*)", page.read_text(), re.MULTILINE)
    return [(name, re.findall(r"(?<!\S)--[a-z-]+", rest)) for name, rest in lines]


@pytest.mark.parametrize("page", SAID, ids=lambda p: p.parent.name + "/" + p.name)
def test_the_commands_that_are_named_exist_with_these_options(page):
    commands = typer.main.get_command(app).commands
    for name, options in command_lines(page, "(?:.venv/bin/)?autograder "):
        assert name in commands, f"autograder {name}"
        assert set(options) <= {option for each in commands[name].params for option in each.opts + each.secondary_opts} | {"--help"}, name
    for name, options in command_lines(page, r"(?:.venv/bin/)?(?:python )?benchmarks/"):
        if name.endswith(".py"):
            source = (ROOT / "benchmarks" / name).read_text()
            assert all(f'"{option}"' in source for option in options), f"benchmarks/{name} {options}"


def test_licence_version_and_authors_are_the_same_in_all_files():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    cited = (ROOT / "CITATION.cff").read_text()
    assert f"\nversion: {project['version']}\n" in cited
    assert f"\nlicense: {project['license']}\n" in cited
    assert [f'  - name: "{author["name"]}"' for author in project["authors"]] == re.findall(r"^  - name: .*$", cited, re.MULTILINE)
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
    for page in SAID:
        for target in set(re.findall(r"`make (\w+)`|^make (\w+)", page.read_text(), re.MULTILINE)):
            name = next(filter(None, target))
            assert re.search(rf"^{name}:", makefile, re.MULTILINE), f"{page.name}: make {name}"


def test_no_file_speaks_of_the_place_it_was_made_in():
    """The project speaks of itself alone: no path of the machine it was written on."""
    others = f":!{Path(__file__).relative_to(ROOT).as_posix()}"
    grep = ["git", "grep", "--files-with-matches", "--text", "-e", "/work/main", "-e", "/root/", "--", others]
    found = subprocess.run(grep, cwd=ROOT, capture_output=True, text=True)
    assert found.returncode == 1, f"git grep found or failed: {found.stdout}{found.stderr}"


def test_each_part_has_a_place():
    found = [name for page in readme.PAGES for name in readme.PART.findall((ROOT / page).read_text())]
    assert sorted(found) == ["certified", "days", "figures", "grading", "ways"]


def test_a_part_that_nobody_knows_is_named():
    with pytest.raises(CourseError, match="no part is called 'speed'"):
        readme.filled("<!-- speed -->\n<!-- end -->")


def write(results: Path, name: str, **speeds: dict[int, float]) -> None:
    rows = [
        {"contender": contender, "prompt": prompt, "batch": batch, "prefill": 33.0 if (prompt, batch) == (64, 1) else 1.0}
        | {"decode": decode if prompt == 64 else 7e7}
        for contender, of in speeds.items()
        for batch, decode in of.items()
        for prompt in (512, 64, 2048)
    ]
    put(results, name, {"machine": f"machine of {name}, load average 1.0", "rows": rows})


def put(results: Path, name: str, measured: dict[str, object]) -> None:
    (results / "data").mkdir(exist_ok=True)
    (results / "data" / f"{name}.json").write_text(json.dumps(measured))


LADDER = {"Day 7, float32": {1: 3.14}, "Day 10, float32": {1: 15.9}}


def test_speeds_are_those_of_one_run_behind_one_length_of_prompt(tmp_path):
    write(tmp_path, "ladder", **LADDER, **{"ours, quantized": {1: 400.0, 16: 900.0}})
    write(tmp_path, "engine", **{"ours, quantized": {1: 500.4, 16: 1100.0}, "llama.cpp, same file": {1: 170.0, 16: 380.0}})
    table = readme.figures(tmp_path)
    assert [[cell.strip() for cell in line.split("|")[2:5]] for line in table.split("\n")[2:6]] == [
        ["33.0", "3.1", "–"], ["33.0", "15.9", "–"], ["33.0", "500", "1100"], ["33.0", "170", "380"],
    ]  # fmt: skip
    assert "7000" not in table
    for name in ("ladder", "engine"):
        assert f"[{name}](benchmarks/results/{name}.md) on machine of {name}" in table


def test_a_run_that_has_everything_is_the_only_one_that_is_quoted(tmp_path):
    write(tmp_path, "ladder", **LADDER, **{"ours, quantized": {1: 400.0, 16: 900.0}, "llama.cpp, same file": {1: 170.0, 16: 380.0}})
    write(tmp_path, "engine", **{"ours, quantized": {1: 500.4, 16: 1100.0}, "llama.cpp, same file": {1: 170.0, 16: 380.0}})
    table = readme.figures(tmp_path)
    assert "machine of ladder" in table
    assert "machine of engine" not in table
    assert "load average" not in table, "the page that is linked to has it, beside what it is of"


def test_what_was_not_measured_is_said_to_be_missing(tmp_path):
    write(tmp_path, "ladder", **{name: of for name, of in LADDER.items() if name != "Day 7, float32"})
    put(tmp_path, "engine", {"machine": "m", "rows": [{"engine": "engine", "prompt": 64, "batch": 1, "decode": 5.0}]})
    row = {"prompt": 64, "batch": 1, "decode_ours": 5.0, "decode_llama": 2.5, "prefill_ours": 8.0, "prefill_llama": 9.0}
    put(tmp_path, "quantized", {"machine": "q", "rows": [row]})
    lines = readme.figures(tmp_path).split("\n")
    assert lines[2].endswith("| not measured | not measured | – |")
    assert lines[4].endswith("| 8.0 | 5.0 | not measured |")
    assert lines[5].endswith("| 9.0 | 2.5 | not measured |")


def test_grading_is_reported_for_every_class_and_for_both_runs_of_stock(tmp_path):
    rows = [
        {"path": "stock", "count": 20, "seconds_per_submission": 4.0, "seconds": 80.0, "isolation": "no isolation"},
        {"path": "bulk", "count": 20, "seconds_per_submission": 0.25, "seconds": 5.0, "isolation": "namespaces"},
        {"path": "bulk", "count": 3000, "seconds_per_submission": 0.1, "seconds": 300.0, "isolation": "namespaces"},
        {"path": "nbgrader", "count": 4000, "seconds_per_submission": 0.5, "seconds": 2000.0, "isolation": "namespaces"},
        {"path": "stock", "count": 30, "seconds_per_submission": 5.0, "seconds": 150.0, "isolation": "no isolation"},
    ]
    put(tmp_path, "grading", {"machine": "m", "rows": rows})
    table = readme.grading(tmp_path)
    assert [line.split(" | ", 1)[1] for line in table.split("\n")[2:6]] == [
        "20 | 0.250 | 5 s | what level `namespaces` allows |", "3,000 | 0.100 | 5.0 minutes | what level `namespaces` allows |",
        "20 | 4.000 | 80 s | whatever its user can |", "30 | 5.000 | 2.5 minutes | whatever its user can |",
    ]  # fmt: skip
    assert "4,000" not in table


def test_the_checks_that_the_seed_varies_are_as_many_as_reported():
    every = [check for topic in known_topics() for check in load_checks(topic)]
    timed = [check for check in every if check.timing]
    counts = []
    for hidden in (False, True):
        here = [check for check in every if check.hidden == hidden]
        counts += [sum("rng" in inspect.signature(check.function).parameters for check in here), len(here)]
    stated = "{} of the {} visible checks, {} of the {} hidden ones, and the {} that measure speed".format(*counts, len(timed))
    assert stated in (ROOT / "docs" / "public_answers.md").read_text(), stated
