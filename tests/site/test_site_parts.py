"""The parts that the site is made of: what goes into it, when a notebook is run again, links, pictures, certification."""

import contextlib
import io
import json
import math
import re
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import ipywidgets
import nbformat
import pytest
import torch
from docutils import nodes
from nbclient import NotebookClient
from rich.console import Console

from autograder.base import cache
from autograder.base.datafiles import hand_computed
from autograder.base.errors import CourseError
from autograder.base.imports import imported_files
from autograder.checking.runner import load_checks
from autograder.lessons import find_day, lesson, marks, solved_notebook, syllabus
from autograder.notebook import workspace
from autograder.site import (
    address,
    certification,
    cheat_sheet,
    checks_page,
    execute,
    first_steps,
    functions_page,
    lesson_pages,
    links,
    measured_page,
    mutants,
    pages,
    playground,
    sphinx_ext,
    wrong_versions,
)
from course.kit.paths import SMOLLM2
from course.kit.plots import readable
from course.kit.steppers.cache_stepper import cache_filling
from course.kit.steppers.roofline_steps import up_the_roof
from course.kit.widgets import sampler_playground
from solutions.samplers import temperature_probs
from solutions.speculative import filtered_probs
from solutions.steering import min_p_probs

from .test_site import READY, answers_in, hidden_names, without_indentation

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def all_sources(tmp_path_factory):
    """What Sphinx is given for all days, with answers and without: notebooks without outputs, which takes no time."""

    def written(answers: bool) -> Path:
        site = pages.Site(tmp_path_factory.mktemp("source"), READY, answers)
        ran = {day.slug: solved_notebook(day) for day in READY}
        for notebook in ran.values():
            notebook.metadata["site"] = {"machine": "this one", "date": "today", "threads": 1}
        pages.write(site, ran)
        return site.source

    return {answers: written(answers) for answers in (True, False)}


@pytest.mark.slow
def test_no_day_leaks_an_answer_into_a_site_without_answers(all_sources):
    for path in [*all_sources[False].rglob("*.ipynb"), *all_sources[False].rglob("*.md")]:
        if path.parent.name == "checks":  # the visible checks are the students' own files, slow ways to do it included
            continue
        text = path.read_text()
        if path.suffix == ".ipynb":
            text = "\n".join(cell.source for cell in nbformat.reads(text, as_version=4).cells)
        text = re.sub(r'<details class="hint".*?</details>', "", text, flags=re.DOTALL)
        assert answers_in(without_indentation(text)) == [], path.name
        assert marks.BEGIN not in text or path.name == "own_days.md"  # where a class's own day is written


@pytest.mark.slow
def test_no_hidden_check_of_any_day_is_in_the_site(all_sources):
    names = hidden_names()
    assert names
    pattern = re.compile(rf"\b(?:{'|'.join(names)})\b")
    for path in [*all_sources[True].rglob("*.ipynb"), *all_sources[True].rglob("*.md")]:
        text = path.read_text()
        assert pattern.findall(text) == [], path.name
        assert "autograder.checking.hidden" not in text


def test_every_visible_check_has_a_section_with_its_source():
    for day in READY:
        page = checks_page.page(day)
        for check in load_checks(day.topic):
            if not check.hidden:
                assert f"({checks_page.label(day, check.name)})=" in page
                assert f"def {check.name}(" in page


# When a notebook is run


def test_a_failing_cell_stops_the_build_with_the_day_and_the_cell(monkeypatch):
    day = find_day("softmax")
    notebook = solved_notebook(day)
    notebook.cells = [cell for cell in notebook.cells if cell.metadata["course"]["role"] == "demo"][:2]
    notebook.cells[0].source, notebook.cells[1].source = "1 + 1", "# divides\n1 / 0"
    monkeypatch.setattr(execute, "solved_notebook", lambda _: notebook)
    with pytest.raises(CourseError, match=r"day01_softmax, cell 2 \(demo, `# divides`\): ZeroDivisionError: division by zero"):
        execute.run(day, (), execute.Bars(print))


SITE = {"ladder": {}, "earlier": {}, "seconds": 1.0, "machine": "this", "date": "today", "threads": 1, "peak_bytes": 1}


@pytest.fixture
def empty_cache(tmp_path, monkeypatch):
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_prose_runs_nothing_again_and_code_does(monkeypatch):
    day = find_day("softmax")
    before = execute.key(day, READY)
    notebook = solved_notebook(day)
    monkeypatch.setattr(execute, "solved_notebook", lambda _: notebook)
    text = next(cell for cell in notebook.cells if cell.cell_type == "markdown")
    text.source += "\n\nOne more sentence."
    assert execute.key(day, READY) == before
    code = next(cell for cell in notebook.cells if cell.cell_type == "code")
    code.source += "\none_more = 1"
    assert execute.key(day, READY) != before


def test_a_figure_to_step_through_counts_where_a_cell_asks_for_it(monkeypatch):
    def key_beside(figure: str, change: bytes) -> str:
        read = Path.read_bytes
        with monkeypatch.context() as patch:
            patch.setattr(Path, "read_bytes", lambda path: read(path) + (change if path.stem == figure else b""))
            return execute.key(find_day("costs"), READY)

    before = key_beside("stepping", b"")  # which the figures of the day are made with
    assert key_beside("stepping", b"\nMORE = 1") != before
    assert key_beside("stepping", b"\n# why") == before
    assert key_beside("cache_stepper", b"\nMORE = 1") == before


def test_cells_import_what_their_code_says_and_a_magic_nothing():
    cells = ["%matplotlib inline\nfrom course.kit.steppers.stepper import page", "!ls\nimport solutions.engine as engine"]
    assert execute.imports_of(cells) == [
        "course.kit.steppers.stepper", "course.kit.steppers.stepper.page", "solutions.engine",
    ]  # fmt: skip


def test_a_folder_of_the_kit_counts_where_a_cell_imports_from_it(monkeypatch):
    read = Path.read_bytes

    def key_beside(topic: str, change: bytes) -> str:
        with monkeypatch.context() as patch:
            patch.setattr(Path, "read_bytes", lambda path: read(path) + (change if path.match("course/kit/serving/running.py") else b""))
            return execute.key(find_day(topic), READY)

    assert key_beside("serving", b"\nMORE = 1") != key_beside("serving", b"")
    assert key_beside("costs", b"\nMORE = 1") == key_beside("costs", b"")


def test_a_run_in_the_cache_is_not_made_again(empty_cache, monkeypatch):
    day = find_day("softmax")
    ran = solved_notebook(day)
    ran.metadata["site"] = SITE
    calls = []
    monkeypatch.setattr(execute, "run", lambda day, before, bars: calls.append(day.slug) or ran)
    for _ in range(2):
        execute.executed([day], say=lambda line: None)
    assert calls == [day.slug]


def test_a_run_that_failed_is_not_cached(empty_cache, monkeypatch):
    def fails(day, before, bars):
        raise CourseError("a cell failed")

    monkeypatch.setattr(execute, "run", fails)
    for _ in range(2):
        with pytest.raises(CourseError, match="a cell failed"):
            execute.executed([find_day("softmax")], say=lambda line: None)
    assert list(empty_cache.glob("*/*.ipynb")) == list(empty_cache.glob("*/day*")) == []


def test_two_who_want_the_same_day_run_it_once(empty_cache, monkeypatch):
    """Threads stand for processes: each opens the lock anew, and so waits for the other."""
    day = find_day("softmax")
    ran = solved_notebook(day)
    ran.metadata["site"] = SITE
    calls = []
    monkeypatch.setattr(execute, "run", lambda day, before, bars: (calls.append(day.slug), time.sleep(0.5)) and ran)
    with ThreadPoolExecutor(2) as both:
        list(both.map(lambda _: execute.executed([day], say=lambda line: None), range(2)))
    assert calls == [day.slug]


def test_two_days_run_side_by_side_and_a_later_one_waits_for_rungs_and_verdicts(empty_cache, monkeypatch):
    both, given = threading.Barrier(2, timeout=20), {}

    def run(day, before, bars):
        if day.topic in ("samplers", "generation"):
            both.wait()  # alone, neither would come past here
        given[day.topic] = execute.left_by(before)
        ran = solved_notebook(day)
        rungs = {day.topic: 1} if day.topic in ("generation", "kv_cache") else {}
        ran.metadata["site"] = SITE | {"ladder": rungs, "earlier": {"transformer": {day.topic: "pass"}}}
        return ran

    monkeypatch.setattr(execute, "run", run)
    days = [find_day(topic) for topic in ("samplers", "generation", "kv_cache", "batching")]
    assert list(execute.executed(days, at_once=2, say=lambda line: None)) == [day.slug for day in days]
    assert {topic: left["ladder"] for topic, left in given.items()} == {
        "samplers": {}, "generation": {}, "kv_cache": {"generation": 1}, "batching": {"generation": 1, "kv_cache": 1},
    }  # fmt: skip
    assert given["batching"]["earlier"] == {"transformer": {"generation": "pass", "kv_cache": "pass"}}


def test_what_earlier_runs_left_is_in_the_workspace(tmp_path):
    left = {"ladder": {"Day 7, the plain loop": {"tokens": 1}}, "earlier": {"softmax": {"a digest": "pass"}}}
    execute._solve_earlier_days(find_day("attention"), tmp_path, left)
    progress = json.loads((tmp_path / workspace.PROGRESS).read_text())
    assert {field: progress[field] for field in left} == left
    assert set(progress["notebooks"]) == {"softmax", "tokenizer"}


def test_after_a_day_that_fails_none_is_begun(empty_cache, monkeypatch):
    begun = []

    def fails(day, before, bars):
        begun.append(day.topic)
        raise CourseError("a cell failed")

    monkeypatch.setattr(execute, "run", fails)
    with pytest.raises(CourseError, match="a cell failed"):
        execute.executed([find_day(topic) for topic in ("softmax", "tokenizer", "attention", "samplers")], say=lambda line: None)
    assert begun == ["softmax"]


def test_a_day_that_shows_the_ladder_needs_the_days_that_set_its_rungs():
    by_topic = {day.topic: execute.needed(day, READY) for day in READY}
    assert [day.topic for day in by_topic["attention"]] == ["attention"]
    assert {"generation", "kv_cache", "batching"} <= {day.topic for day in by_topic["batching"]}


def test_what_notebooks_import_counts_and_what_only_grading_needs_does_not():
    counted = {path.name for path in imported_files(ROOT, ["autograder.student"])}
    assert {"student.py", "progress.py", "earlier.py", "local.py", "runner.py", "authoring.py"} <= counted
    assert counted.isdisjoint({"certify.py", "attack_suite.py", "demo.py"})


def test_a_widget_becomes_a_picture_of_itself_and_a_progress_bar_goes():
    boxes = ipywidgets.VBox([ipywidgets.FloatSlider(value=1.0, description="floor"), ipywidgets.HTML("<i>words</i>")])
    bar = ipywidgets.HBox([ipywidgets.HTML(""), ipywidgets.IntProgress()])
    models = ipywidgets.Widget.get_manager_state()["state"]

    def output(widget):
        data = {lesson_pages.WIDGET: {"model_id": widget.model_id}, "text/plain": "VBox(...)"}
        return nbformat.v4.new_output("display_data", data=data)

    picture = lesson_pages.still(output(boxes), models)
    assert set(picture.data) == {"text/html"}
    for words in ("floor: <b>1</b>", "<i>words</i>", "kernel"):
        assert words in picture.data["text/html"]
    assert lesson_pages.still(output(bar), models) is None
    live = lesson_pages.still(output(sampler_playground(torch.tensor([2.0, 1.0, 0.0]))), ipywidgets.Widget.get_manager_state()["state"])
    assert 'class="playground"' in live.data["text/html"]
    assert lesson_pages.IN_THE_LESSON in live.data["text/html"]


def test_printed_text_stays_where_it_was_between_what_was_shown():
    def printed(text):
        return nbformat.v4.new_output("stream", name="stdout", text=text)

    shown = nbformat.v4.new_output("display_data", data={"text/html": "<p>boxes</p>"})
    outputs = [printed("a\n"), printed("b\n"), shown, printed("c\n")]
    assert lesson_pages.joined(outputs) == [printed("a\nb\n"), shown, printed("c\n")]
    assert outputs[0].text == "a\n"


def test_a_function_in_a_formula_keeps_its_distance():
    thin = sphinx_ext.THIN
    assert sphinx_ext.spaced("<mi>p</mi><mi>ln</mi><mi>p</mi>") == f"<mi>p</mi>{thin}<mi>ln</mi>{thin}<mi>p</mi>"
    bracket = '<mi>ln</mi><mo stretchy="false">&#x00028;</mo>'
    assert sphinx_ext.spaced(bracket) == bracket


def test_links_hold_on_the_forge_and_in_the_site():
    docs = ROOT / "docs"
    site_pages = {docs / "grading.md": "grading.md", ROOT / "benchmarks" / "results" / "load.md": "results/load.md"}
    text = (
        "[a](grading.md#speed) [b](../benchmarks/results/load.md) [c](https://example.org) [d](#here)\n"
        "[tests](../tests/days/test_day01.py) `[e](grading.md)` ![f](images/check.png)\n```\n[g](grading.md)\n```"
    )
    moved = links.relink(text, docs / "instructor.md", "deep/page.md", site_pages, lambda picture: f"pictures/{picture.name}")
    assert moved == (
        "[a](../grading.md#speed) [b](../results/load.md) [c](https://example.org) [d](#here)\n"
        "tests (`test_day01.py`) `[e](grading.md)` ![f](../pictures/check.png)\n```\n[g](grading.md)\n```"
    )
    # A table's list that is cut off: its brackets stay open.
    cut = "| [[1, 2], [3, … | [h](grading.md) |\n| [4, [5, … | [i](../tests/days/test_day02.py) |"
    moved = links.relink(cut, docs / "instructor.md", "page.md", site_pages, lambda picture: picture.name)
    assert moved == "| [[1, 2], [3, … | [h](grading.md) |\n| [4, [5, … | i (`test_day02.py`) |"


def test_a_picture_in_html_goes_along_with_its_still():
    html = '<picture><source srcset="images/a.png"><img src="images/b.webp" alt="src"></picture> `<img src="images/c.png">`'
    pictures = []

    def keep(picture):
        pictures.append(picture)
        return f"pictures/{picture.name}"

    moved = links.relink(html, ROOT / "docs" / "serving.md", "deep/page.md", {}, lambda picture: "", keep_as_is=keep)
    assert moved == (
        '<picture><source srcset="../pictures/a.png"><img src="../pictures/b.webp" alt="src"></picture> `<img src="images/c.png">`'
    )
    assert pictures == [ROOT / "docs" / "images" / name for name in ("a.png", "b.webp")]
    assert links.relink(html, ROOT / "docs" / "serving.md", "deep/page.md", {}, lambda picture: "") == html


def test_what_the_pages_say_of_mutants(tmp_path):
    counts = {"made": 1200, "killed": 1198, "equivalent": 1, "surviving": 1}
    one = {"exercise": "softmax", "origin": "reference", "where": "softmax", "before": "x = y", "nth": 1}
    topic = {**counts, "exercises": {"softmax": counts}, "stale": [], "survivors": [one | {"after": "x = 1"}]}
    topic["equivalents"] = [one | {"after": after, "reason": "y is 2 here, always"} for after in ("x = 2", "x =\n`3`")]
    figures = {"run": {"date": "today", "commit": "abc"}, "origin": "reference", "share": 12, "topics": {"softmax": topic}, **counts}
    section = "\n".join(mutants.section([figures, figures | {"origin": "right", "left_out": 2345}], syllabus()))
    words = "judged: 1,198 killed, 1 equivalent, 1 surviving**."
    assert f"**1,200 mutants of the reference were {words}" in section
    assert f"**1,200 mutants of correct solutions (one of 12, drawn by digest; 2,345 more were not judged) were {words}" in section
    assert "| Day 1, Softmax | 1,200 | 1,198 | 1 | 1 | today, commit abc |" in section
    assert "- survives: a change in `softmax/reference`, `softmax`" in section
    page = mutants.page([figures], syllabus())
    assert "- `softmax`: `x = y` becomes `x = 2`; or `` x = ⏎ `3` ``.\n  Reason: y is 2 here, always." in page
    assert "- `softmax`: `x = y` becomes `x = 1`.\n  **Survives**" in page
    bare = mutants.page([figures], syllabus(), answers=False)
    assert "- `softmax`: 2 changes.\n  Reason: y is 2 here, always." in bare
    assert "x =" not in bare
    assert mutants.section([], syllabus()) == ["No mutants were made for this page."]
    (tmp_path / "mutants.json").write_text("{}")
    with pytest.raises(CourseError, match="not what"):
        mutants.read(tmp_path / "mutants.json")


def test_a_certification_that_fell_short_says_so(tmp_path):
    entry = {"file": "wrong_dim.py", "exercise": "softmax", "difference": "over the first dimension", "reason": "every check passes"}
    counts = {"right_total": 2, "right_passed": 2, "wrong_total": 3, "wrong_killed": 2}
    topic = {**counts, "exercises": {"softmax": counts}, "survivors": [entry], "false_failures": [], "invalid": []}
    run = {"course_version": "0", "commit": "", "date": "today", "machine": "this", "python": "3", "torch": "2", "isolation": "landlock"}
    attack = {"attack": "forge_points", "trouble": ["10 points, 4 were due"]}
    figures = {"run": run, "seeds": 3, "topics": {"softmax": topic}, **counts, "attacks_total": 2, "attacks_honest": 1}
    figures |= {"attacks_by_kind": {"forge": {"total": 2, "honest": 1}}, "attacks_not_honest": [attack]}
    path = tmp_path / "certification.json"
    path.write_text(certification.json.dumps(figures))
    page = certification.page(path)
    for words in (
        "2 of 3 incorrect ones were caught, and 1 of 2 attacks were contained",
        "- passed, though incorrect: `wrong_dim.py`: over the first dimension",
        "| forge points | 1 of 2 |",
        "- not contained at `landlock` (today): `forge_points`, 10 points, 4 were due",
        "| Day 1, Softmax | 2 of 2 | 2 of 3 |  |  | today |",
        "with 3 seeds for each solution. Run the command to repeat the certification",
    ):
        assert words in page
    path.write_text("{}")
    with pytest.raises(CourseError, match="not the output of"):
        certification.page(path)


def test_a_topic_certified_anew_takes_its_place_among_the_others():
    run = {"course_version": "0", "commit": "a", "date": "then", "machine": "this", "python": "3", "torch": "2", "isolation": "namespaces"}
    counts = {"right_total": 2, "right_passed": 2, "wrong_total": 3, "wrong_killed": 3, "named": 1}
    topic = {**counts, "exercises": {}, "survivors": [], "false_failures": [], "invalid": []}
    held = {"attacks_total": 2, "attacks_honest": 2, "attacks_by_kind": {}, "attacks_not_honest": []}
    older = {"run": run, "seeds": 1, "topics": {"softmax": topic, "attention": topic}, **counts, **held}
    more = topic | {"wrong_total": 4, "wrong_killed": 4}
    newer = {"run": run | {"date": "now", "commit": "b"}, "seeds": 3, "topics": {"tokenizer": topic, "attention": more}, **counts}
    whole = certification.joined(older, newer)
    assert list(whole["topics"]) == ["softmax", "tokenizer", "attention"]  # in the order of the days
    assert (whole["right_total"], whole["wrong_killed"], whole["named"], whole["attacks_honest"]) == (6, 10, 3, 2)
    assert [whole["topics"][name]["run"]["date"] for name in whole["topics"]] == ["then", "now", "now"]
    assert whole["attacks_run"]["date"] == "then"
    figures = certification.circumstances(whole, syllabus())
    assert "Day 1: course version 0, on this" in figures
    assert "one seed for each solution; Day 2, Day 3: course version 0" in figures
    again = certification.joined(whole, {"run": run | {"date": "later"}, "seeds": 1, "topics": {}, **counts, **held})
    assert again["attacks_run"]["date"] == "later"
    assert again["wrong_total"] == 10
    assert [topic["run"]["seeds"] for topic in again["topics"].values()] == [1, 3, 3]


def test_make_docs_builds_the_site_from_a_fresh_clone_and_can_leave_the_answers_out():
    def commands(*arguments: str) -> str:
        return subprocess.run(["make", "-n", "docs", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout

    assert "-m autograder.site\n" in commands()
    assert "-m autograder.site --no-answers" in commands("ANSWERS=0")


@pytest.mark.slow
def test_a_kernel_that_does_nothing_is_ended_and_one_that_works_is_left_alone(monkeypatch):
    monkeypatch.setattr(execute, "STALL_SECONDS", 4.0)
    for source, stalls in (("import time\ntime.sleep(300)", True), ("import time\nwhile time.process_time() < 8: pass", False)):
        client = NotebookClient(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)]), timeout=200)
        with pytest.raises(execute.Stalled) if stalls else contextlib.nullcontext(), execute.ended_if_it_stalls(client):
            client.execute()


def test_a_notebook_whose_kernel_stalls_is_run_again_and_that_is_said(monkeypatch):
    tries, said = [], []

    def once(day, ladder, bars):
        tries.append(day)
        if len(tries) % 4:
            raise execute.Stalled("day01_softmax, cell 7")
        return "ran"

    monkeypatch.setattr(execute, "run_once", once)
    bars = execute.Bars(said.append)
    with pytest.raises(CourseError, match="3 kernels stopped answering"):
        execute.run(find_day("softmax"), (), bars)
    assert execute.run(find_day("softmax"), (), bars) == "ran"
    assert said == ["day01_softmax, cell 7: its kernel did nothing for 60 s and was ended; 0 s are lost"] * 3


@pytest.mark.parametrize("terminal", [True, False])
def test_the_cells_that_run_are_counted_on_a_terminal_and_nowhere_else(terminal):
    out, said = io.StringIO(), []
    with execute.Bars(said.append, Console(file=out, force_terminal=terminal, width=80)) as bars:
        bars.days(18)
        bars.at("a", 2, 9)
        bars.at("b", 1, 4)
        bars.say("a line")
        bars.day_done()
    shown = out.getvalue()
    assert [text in shown for text in ("days", "1/18", "a, cells", "2/9", "1/4")] == [terminal] * 5
    assert said == ["a line"]


# What the site adds to a lesson


def test_each_stepper_has_the_picture_that_its_script_draws():
    page = first_steps.with_first_steps(cache_filling())
    drawing = re.search(r'<div class="drawing"><svg [^>]*>(.*?)</svg></div>', page, re.DOTALL)
    assert drawing[1].count("k v ") == 3 * 6  # three layers, a prompt of six tokens
    assert re.search(r'data-part="words"[^>]*>Prefill\. 6 tokens pass', page)
    assert page.count("<script>") == 1
    two = first_steps.with_first_steps(cache_filling() + up_the_roof())
    assert two.count('class="drawing"') == 2


def test_a_stepper_whose_script_fails_stops_the_build():
    with pytest.raises(CourseError, match="does not draw its first step"):
        first_steps.with_first_steps(cache_filling().replace("const wide = 50", "const wide = nothing.there"))


def test_a_long_line_of_code_is_marked_with_its_indentation_and_no_letter_is_lost():
    short, long = "x = 1", "    " + "y" * 100
    made = sphinx_ext.broken(f"{short}\n<span>{long}</span>\n\n{short}\n")
    assert made == f'{short}\n<span class="long" style="--indent:4ch"><span>{long}</span>\n</span>\n{short}\n'
    entities = "a" * 40 + "&lt;" * 20  # sixty signs
    assert "long" not in sphinx_ext.broken(f"{entities}\n")


def test_code_with_an_anchor_is_broken_too_and_what_a_cell_printed_is_not():
    line = "y" * 100
    inner = '<div class="highlight"><pre>{}\n</pre></div></div>'
    code = f'<div class="highlight-python notranslate" id="index-0"><span id="here"></span>{inner}'
    printed = f'<div class="output stream highlight-myst-ansi notranslate">{inner}'
    context = {"body": code.format(line) + printed.format(line)}
    sphinx_ext.long_lines(None, "page", "page.html", context, None)
    broken = code.replace("{}\n", f'<span class="long" style="--indent:0ch">{line}\n</span>')
    assert context["body"] == broken + printed.format(line)


@pytest.mark.slow
@pytest.mark.parametrize("day", READY, ids=lambda day: day.slug)
def test_every_ready_day_shows_a_wrong_version_whose_mistake_the_checker_names(day):
    made = wrong_versions.chosen(day)
    assert "<b>Found:</b>" in made["table"]
    assert not hidden_names() & set(re.findall(r"\w+", made["table"]))


# Addresses


def test_no_address_stands_anywhere_where_nobody_has_said_one(tmp_path, monkeypatch):
    for name in ("COURSE_REPOSITORY", "COURSE_SITE"):
        monkeypatch.delenv(name, raising=False)
    project = tmp_path / "pyproject.toml"
    project.write_text("[project]\n")
    assert (address.repository(project), address.site(project)) == ("", "")
    project.write_text('[project.urls]\nrepository = "https://forge.example/course/"\nsite = "https://course.example/site"\n')
    assert (address.repository(project), address.site(project)) == ("https://forge.example/course", "https://course.example/site/")
    monkeypatch.setenv("COURSE_REPOSITORY", "https://forge.example/mine")
    assert address.repository(project) == "https://forge.example/mine"
    monkeypatch.setenv("COURSE_SITE", "somewhere")
    with pytest.raises(CourseError, match=r"COURSE_SITE, or `site` in .* must be an address"):
        address.site(project)


def test_with_an_address_a_link_to_the_site_has_a_picture_and_the_page_for_missing_ones_finds_the_way_back():
    def tags(base, name):
        images = {"pictures/docs/images/check.png": "check.png"}
        builder = SimpleNamespace(get_target_uri="{}.html".format, images=images, imagedir="_images")
        config = SimpleNamespace(html_baseurl=base, html_title="The course")
        app = SimpleNamespace(config=config, builder=builder)
        page = nodes.document(None, None)
        page += nodes.paragraph("", 'Say "this".')
        context = {"title": "A <code>page</code>"}
        sphinx_ext.page_metadata(app, name, "page.html", context, page)
        sphinx_ext.not_found(app, name, "page.html", context, page)
        return context["metatags"]

    known = tags("https://course.example/site/", "404")
    assert known.startswith('<base href="/site/">')
    for property_, content in (
        ("og:title", "A page"), ("og:description", "Say &quot;this&quot;."), ("og:url", "https://course.example/site/404.html"),
        ("og:image", "https://course.example/site/_images/check.png"),
    ):  # fmt: skip
        assert f'<meta property="{property_}" content="{content}">' in known
    unknown = tags("", "404")
    assert "<base" not in unknown
    assert "og:url" not in unknown
    assert "og:image" not in unknown
    assert "<base" not in tags("https://course.example/site/", "index")


def test_the_code_is_linked_where_its_place_is_known(monkeypatch):
    site = pages.Site(Path("nowhere"), READY, True)
    monkeypatch.delenv("COURSE_REPOSITORY", raising=False)
    if not address.repository():
        assert "The code" not in pages.ways(site)
    monkeypatch.setenv("COURSE_REPOSITORY", "https://forge.example/mine")
    assert pages.ways(site) == (
        "**[Read Day 1](days/day01_softmax.ipynb) · [Install](start_here.ipynb) · [Teach with it](instructor.md) · "
        "[The code](https://forge.example/mine)**"
    )


def test_every_function_of_the_course_is_in_the_index_with_its_exercise_and_its_checks():
    page = functions_page.page(READY)
    for day in READY:
        for exercise in lesson(day).exercises:
            assert f"| [`{exercise.name}`](#{lesson_pages.label(day, exercise.name)}) | " in page
            assert f"({checks_page.of_exercise(day, exercise.name)})=" in checks_page.page(day)
    assert not re.search(r"\| \|.*\| \d+ \|", page)  # each says what it is


def test_the_measured_figures_are_those_of_the_benchmarks():
    page = measured_page.page(["engine"])
    figures = json.loads((ROOT / "benchmarks" / "results" / "data" / "engine.json").read_text())
    speed = {(row["contender"], row["prompt"], row["batch"]): row["decode"] for row in figures["rows"]}
    theirs = "llama.cpp, its fastest format"
    ratios = [speed["ours, quantized", *where] / speed[name, *where] for name, *where in speed if name == theirs]
    assert f"decodes at {min(ratios):.2f} to {max(ratios):.2f} times the speed of {theirs}." in page
    assert page.count("Machine: ") == 3


# The playground

SETTINGS = [
    {"temperature": temperature, "minP": min_p, "topK": top_k, "topP": top_p}
    for temperature, min_p, top_k, top_p in [
        (1.0, 0.0, 0, 1.0), (0.7, 0.0, 0, 0.9), (2.0, 0.0, 0, 0.9), (3.0, 0.0, 1000, 0.95), (0.0, 0.0, 5, 0.5), (1.0, 0.05, 0, 1.0),
        (1.5, 0.02, 50, 0.8), (1.0, 1.0, 0, 1.0), (0.05, 0.0, 0, 0.99), (1.0, 0.0, 1, 1.0), (2.5, 0.0, 0, 0.01), (3.0, 0.0, 0, 0.99),
    ]
]  # fmt: skip


@pytest.fixture(scope="module")
def said_by_the_model():
    """The logits that the playground has, one for each token, highest first."""
    data = playground.read()
    tail = data["tail"]
    rest = [(tail["first"] - i) * tail["step"] for i, count in enumerate(tail["counts"]) for _ in range(count)]
    logits = sorted([logit for _, logit in data["leading"]] + rest, reverse=True)
    assert len(logits) == data["vocabulary"]
    return torch.tensor([logits], dtype=torch.float64)


@pytest.mark.parametrize("settings", SETTINGS)
def test_the_playground_computes_what_the_samplers_do(said_by_the_model, settings):
    probs = temperature_probs(said_by_the_model, settings["temperature"])
    before = probs[0]
    if settings["minP"] > 0:
        probs = min_p_probs(probs.log(), settings["minP"])
    top_k, top_p = settings["topK"] or None, settings["topP"] if settings["topP"] < 1 else None
    wanted = filtered_probs(probs.log(), temperature=1.0, top_k=top_k, top_p=top_p)[0]
    all_groups = f"coursePlayground.groups({json.dumps(playground.read())})"
    rows = json.loads(playground.ask(f"coursePlayground.distribution({all_groups}, {json.dumps(settings)})"))
    got = torch.tensor([row["after"] if place < row["kept"] else 0.0 for row in rows for place in range(row["count"])])
    # Of tokens with one logit, which of them a cut leaves is nobody's business: torch's own order is not fixed.
    assert (got.double() - wanted.sort(descending=True).values).abs().max() < 1e-6
    measured = json.loads(playground.ask(f"coursePlayground.measures({json.dumps(rows)})"))
    kept = wanted[wanted > 0]
    assert measured["kept"] == len(kept)
    assert measured["mass"] == pytest.approx(float(before[wanted > 0].sum()), abs=1e-6)
    assert measured["entropy"] == pytest.approx(abs(float(-(kept * kept.log()).sum())), abs=1e-6)


@pytest.mark.slow
def test_the_playground_has_the_logits_of_the_model():
    if not SMOLLM2.is_file():
        pytest.skip("SmolLM2 is not here")
    data = playground.read()
    logits, model = playground.logits_after(data["prompt"])
    best = torch.tensor(logits).topk(playground.NUM_LEADING)
    assert [logit for _, logit in data["leading"]] == pytest.approx(best.values.tolist(), abs=2e-3)
    assert data["leading"][0][0] == readable(model.tokenizer.decode([int(best.indices[0])]))
    tail = data["tail"]
    mass = sum(count * math.exp((tail["first"] - i) * tail["step"]) for i, count in enumerate(tail["counts"]))
    wanted = torch.tensor(logits, dtype=torch.float64).exp().sum() - best.values.double().exp().sum()
    assert mass == pytest.approx(float(wanted), rel=1e-3)


def test_the_playground_stands_in_the_page_before_any_script_has_run():
    page = playground.figure("A note.")
    text = page.split("<script>")[0]
    assert text.count('<th scope="row">') == 12
    assert "49,152 of 49,152 tokens are left" in text
    assert "A note." in text
    assert "\n\n" not in page  # a blank line would end a block of HTML in Markdown


def test_every_ready_day_has_formulas_and_all_of_its_numbers():
    formulas, numbers = cheat_sheet.page(), cheat_sheet.numbers_page()
    for day in cheat_sheet.ready():
        section = formulas.split(f"## Day {day.number} ·")[1].split("## Day")[0]
        assert "| what | formula | check |" in section
        assert section.count("autograder/checking/checks/") >= 1, day.topic
        for name in hand_computed(day.topic):
            assert f"**{name.replace('_', ' ')}.** " in numbers.split(f"## Day {day.number} ·")[1].split("## Day")[0]


def test_no_number_names_a_check_twice():
    for line in cheat_sheet.numbers_page().split("\n"):
        links = re.findall(r"\[([^\]]+)\]\(", line) if line.startswith("- [") else []
        assert len(links) == len(set(links)), line
