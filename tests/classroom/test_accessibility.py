"""For everybody: what axe-core finds serious on our pages and outputs, and every playground worked with keys alone."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import nbformat
import pytest
from typer.testing import CliRunner

from autograder.cli import app
from autograder.gradebook.books.bulk import ClassFolder
from autograder.gradebook.reports import similar_page, similarity
from autograder.grading.tasks import find_tasks
from autograder.lessons import find_day, syllabus

from ..gradebook import test_similarity
from ..support import lab
from ..support.axe import violations
from ..support.graded_class import correct_by_hand, graded_class
from ..support.lab import scroll_until
from ..support.submissions import SOFTMAX
from .test_instructor import lab as instructors_lab

pytestmark = [pytest.mark.browser, pytest.mark.slow]

if lab.CHROMIUM is None:
    pytest.skip("no chromium on this machine (Debian: apt-get install chromium)", allow_module_level=True)
pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytest.importorskip("axe_playwright_python", reason="axe-playwright-python is not installed")

SLUG = SOFTMAX.slug


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with lab.chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> ClassFolder:
    """A graded class with feedback and a report; its settings are those that `autograder class` makes."""
    root = tmp_path_factory.mktemp("class")
    command = CliRunner()
    assert command.invoke(app, ["class", str(root)]).exit_code == 0
    found = graded_class(root)
    correct_by_hand(found, "eve", "softmax", 1.0)
    for name in ("feedback", "report"):
        assert command.invoke(app, [name, "softmax", "--submitted", str(found.submitted)]).exit_code == 0
    return found


# The instructor's desk


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_class_report(browser, folder, scheme):
    page = browser.new_page(color_scheme=scheme)
    page.goto((folder.root / "report" / "index.html").as_uri())
    assert violations(page) == []
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_is_alike_side_by_side(browser, tmp_path, scheme):
    tasks = find_tasks(test_similarity.hand_in(tmp_path, **test_similarity.two_alike()), [test_similarity.DAY])
    found = similarity.alike(test_similarity.DAY, tasks)
    assert found.pairs
    path = tmp_path / "similar.html"
    path.write_text(similar_page.html(test_similarity.DAY, found, test_similarity.NOW), encoding="utf-8")
    page = browser.new_page(color_scheme=scheme)
    page.goto(path.as_uri())
    assert violations(page) == []
    page.close()


@pytest.mark.parametrize("student", ["ada", "bob", "cut", "eve", "ivan"])
def test_feedback_pages(browser, folder, student):
    page = browser.new_page()
    page.goto((folder.root / "feedback" / student / SLUG / f"{SLUG}.html").as_uri())
    assert violations(page) == []
    page.close()


def test_a_grading_page_in_formgrader(browser, folder, tmp_path):
    """The notebook with its tables and boxes. The bar above it, and formgrader's lists, are nbgrader's own."""
    with instructors_lab(folder.root, tmp_path) as formgrader:
        submissions = json.loads(formgrader.get(f"/formgrader/api/submitted_notebooks/{SLUG}/{SLUG}"))
        number = 1 + next(s["index"] for s in submissions if s["student"] == "bob")
        page = browser.new_page()
        page.goto(f"{formgrader.address}/formgrader")  # from the first list that an instructor sees
        page.get_by_role("link", name=SLUG, exact=True).wait_for()
        assert page.get_by_role("link", name=re.compile(r"^day\d\d_")).count() == sum(day.ready for day in syllabus())
        page.get_by_role("link", name="Manual Grading").click()
        page.get_by_role("link", name=SLUG, exact=True).click()
        page.get_by_role("link", name=SLUG, exact=True).click()  # the day's one notebook
        page.get_by_role("link", name=f"Submission #{number}", exact=True).click()
        page.wait_for_selector("input.score")
        assert violations(page, "#notebook") == []
        assert page.locator("html").get_attribute("lang") == "en"
        assert page.get_by_label("points for softmax", exact=True).is_visible()
        assert page.get_by_label("comment on entropy", exact=True).is_visible()
        page.close()


# The student's desk: one notebook with everything of ours that a cell can show

CELLS = (
    """import torch
from IPython.display import HTML, display
from ipywidgets import FloatSlider
from autograder.notebook import ladder, render; from autograder import student
from autograder.checking.runner import run_checks, select
from autograder.sandbox.process.local import LocalStudent
from course.kit import load_model, widgets
from course.kit.steppers.batch_stepper import batch_by_batch
from course.kit.steppers.block_stepper import blocks_in_use
from course.kit.steppers.cache_stepper import cache_filling
from course.kit.steppers.draft_stepper import round_by_round
from course.kit.steppers.request_timeline import request_timeline
from course.kit.steppers.ring_stepper import round_of_messages
from course.kit.steppers.roofline_steps import up_the_roof
from course.kit.steppers.stepper import prefill_and_decode
from course.kit.steppers.tile_stepper import tile_by_tile
from solutions import samplers, softmax
model = load_model("tiny")""",
    """def top_p_probs(logits, p):
    probs = softmax.softmax(logits)
    ordered, order = probs.sort(dim=-1, descending=True)
    kept = torch.zeros_like(probs).scatter(-1, order, ordered * (ordered.cumsum(dim=-1) <= p))
    return kept / kept.sum(dim=-1, keepdim=True)
student.check("top_p_probs")""",
    """def causal_mask(q_len, k_len=None, window=None):
    return torch.ones(q_len, k_len or q_len, dtype=torch.bool)
student.check("causal_mask")""",
    "student.hint('top_p_probs')",
    """student.rung("Day 7, the loop", 12.0, model=model)
student.rung("Day 10, KV cache", 60.0, model=model)
student.progress()""",
    "display(HTML(prefill_and_decode()))",
    "display(HTML(cache_filling()))",
    "display(HTML(up_the_roof()))",
    "display(HTML(request_timeline()))",
    "display(HTML(tile_by_tile()))",
    "display(HTML(blocks_in_use()))",
    "display(HTML(batch_by_batch()))",
    "display(HTML(round_by_round()))",
    "display(HTML(round_of_messages()))",
    """logits = torch.tensor([[2.0, 1.0, 0.5, 0.2, -1.0]])
widgets.sampler_playground(logits, list("abcde"), temperature_probs=samplers.temperature_probs, top_k_probs=samplers.top_k_probs,
                           top_p_probs=samplers.top_p_probs)""",
    "widgets.interact(lambda floor: print(floor), floor=FloatSlider(description='floor'));",
)


@pytest.fixture(scope="module")
def page(browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The notebook in JupyterLab, all its cells run."""
    folder = tmp_path_factory.mktemp("desk")
    (folder / "work" / find_day("samplers").slug).mkdir(parents=True)
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in CELLS], metadata=kernel)
    place = f"work/{find_day('samplers').slug}/everything.ipynb"
    nbformat.write(notebook, folder / place)
    with lab.lab(folder, "--LabApp.expose_app_in_browser=True") as address:
        page = lab.open_page(browser, f"{address}/lab/tree/{place}?reset")
        page.wait_for_selector(".jp-NotebookPanel:visible .jp-Cell", timeout=60_000)
        lab.run_all_cells(page)
        errors = page.locator(".jp-OutputArea-output[data-mime-type='application/vnd.jupyter.error']")
        assert errors.count() == 0, errors.first.inner_text()
        yield page
        page.close()


# Each figure with steps by a list of its own, its words at the first step and after one press.
STEPPERS = {
    ".course-stepper:has([data-part=prompt])": ("Prefill of", "Decode step 1"),
    ".course-stepper:not(:has(select, input))": ("Prefill.", "Step 1"),
    ".course-stepper:has([data-part=bits])": ("1 token in one pass", "2 tokens in one pass"),
    ".course-stepper:has([data-part=servers])": ("0.2 requests a second", "0.4 requests a second"),
    ".course-stepper:has([data-part=order])": ("Nothing is absorbed yet", "Tile 1 of 4"),
    ".course-stepper:has([data-part=pool])": ("Nothing is in memory yet", "A reads a prompt"),
    ".course-stepper:has([data-part=budget])": ("No step yet", "Step 1, ticks 0 to 10"),
    ".course-stepper:has([data-part=draft])": ("Nothing has been read yet", "Pass 1, the prefill"),
    ".course-stepper:has([data-part=way])": ("Nothing has been sent", "Round 1 of 6"),
}


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
@pytest.mark.parametrize("selector", [
    ".check-table:has(caption:text('top_p_probs:'))", ".check-table:has(caption:text('causal_mask:'))",
    ".jp-OutputArea-output:has(caption:text('Your ladder'))", *STEPPERS, ".sampler-playground", ".widget-interact",
])  # fmt: skip
def test_what_a_cell_shows(page, selector, theme):
    """All but plots: JupyterLab gives their pictures no alternative text, and the words are in the lesson."""
    choose_theme(page, theme)
    scroll_until(page, selector)
    marked = page.locator(selector).first
    marked.evaluate("e => { document.querySelectorAll('#looked-at').forEach(o => o.removeAttribute('id')); e.id = 'looked-at'; }")
    assert violations(page, "#looked-at") == []


def choose_theme(page: Any, theme: str) -> None:
    if page.locator("body").get_attribute("data-jp-theme-name") == theme:
        return
    page.evaluate("theme => window.jupyterapp.commands.execute('apputils:change-theme', {theme})", theme)
    page.wait_for_function("theme => document.body.dataset.jpThemeName === theme", arg=theme)


def test_the_steppers_step_by_keys_inside_the_notebook(page):
    for selector, (first, second) in STEPPERS.items():
        scroll_until(page, selector)
        figure = page.locator(selector).first
        words = figure.locator("[data-part=words]")
        assert words.inner_text().startswith(first)
        figure.locator("[data-part=next]").focus()
        page.keyboard.press("ArrowRight")
        assert words.inner_text().startswith(second)
        page.keyboard.press("Home")
        assert words.inner_text().startswith(first)


def test_the_sampler_playground_is_moved_by_keys_and_says_what_it_shows(page):
    scroll_until(page, ".sampler-playground")
    figure = page.locator(".sampler-playground").first
    words = page.locator(".sampler-playground [aria-live=polite]").first
    first = words.inner_text()
    assert "5 of 5 tokens survive" in first

    def says(begin: str, *, other_than: str = "") -> None:
        page.wait_for_function(
            """([begin, other]) => {
                const words = document.querySelector(".sampler-playground [aria-live=polite]").innerText;
                return words.startsWith(begin) && words !== other;
            }""",
            arg=[begin, other_than], timeout=60_000,
        )  # fmt: skip

    def slider(name: str) -> Any:
        return figure.get_by_role("slider", name=re.compile(re.escape(name)))

    press(slider("temperature tau"), "ArrowRight")
    says("5 of 5 tokens survive", other_than=first)
    for _ in range(3):  # from off over 1 and 2
        press(slider("top-k: keep the k best"), "ArrowRight")
    says("3 of 5 tokens survive")
    press(slider("top-p: keep the mass p"), "Home")
    says("1 token survives")
    figure.get_by_role("button", name="Reset").press("Enter")
    says(first)


def press(slider: Any, key: str) -> None:
    """Presses a key on a slider until it has moved: JupyterLab may take the focus for itself just after it was given."""
    before = slider.get_attribute("aria-valuenow")
    for _ in range(20):
        slider.press(key)
        if slider.get_attribute("aria-valuenow") != before:
            return
        slider.page.wait_for_timeout(250)
    raise AssertionError(f"{key} does not move the slider")
