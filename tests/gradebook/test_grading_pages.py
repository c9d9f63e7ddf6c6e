"""formgrader's pages: formulas and figures are in them, and nothing is loaded from elsewhere."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from nbconvert.exporters import HTMLExporter
from nbgrader.server_extensions.formgrader import handlers
from traitlets.config import Config

from autograder.gradebook.books.settings import configure
from autograder.lessons import build_source, find_day, solved_notebook, syllabus

FROM_ELSEWHERE = re.compile(r"<(?:script|link|img|iframe)\b[^>]*(?:src|href)=[\"']?(?:https?:)?//[^\"'>]*")


def page(day, *, ours: bool = True) -> str:
    """A grading page, made as nbgrader's formgrader makes it."""
    config = Config()
    if ours:
        configure(config)
    theirs = Config()
    theirs.HTMLExporter.template_name = "formgrade"
    theirs.HTMLExporter.extra_template_basedirs = [handlers.template_path]
    config.merge(theirs)
    names = ("notebook_id", "submission_id", "student", "last_name", "first_name", "notebook_path", "base_url")
    resources = {**dict.fromkeys(names, ""), "assignment_id": day.slug, "index": 0, "total": 1}
    html, _ = HTMLExporter(config=config).from_notebook_node(solved_notebook(day), resources=resources)
    return str(html)


@pytest.mark.parametrize("day", [d for d in syllabus() if d.ready], ids=lambda d: d.slug)
def test_a_grading_page_loads_nothing_from_elsewhere_and_shows_every_figure(day):
    html = page(day)
    assert FROM_ELSEWHERE.findall(html) == []
    figures = re.findall(r"!\[.*?\]\((figures/[^)\s]+)", day.lesson_path.read_text())
    assert html.count("data:image/") == len(figures)
    assert 'src="figures/' not in html


def test_formulas_are_mathml():
    html = page(find_day("softmax"))
    assert "<math" in html
    assert "$$" not in re.sub(r"<(script|pre|style)\b.*?</\1>", "", html, flags=re.DOTALL)


def test_without_our_settings_the_page_does_load_something():
    """What this is for: should nbgrader stop doing so, our templates can go."""
    assert any("mathjax" in found for found in FROM_ELSEWHERE.findall(page(find_day("softmax"), ours=False)))


def test_the_source_notebook_has_its_figures_beside_it_and_no_scripts(tmp_path: Path):
    day = find_day("samplers")
    for name in ("course", "solutions"):
        (tmp_path / name).symlink_to(day.root / name)
    path = build_source(replace(day, root=tmp_path))
    assert path == tmp_path / "build" / "source" / day.slug / f"{day.slug}.ipynb"
    names = {p.name for p in (path.parent / "figures").iterdir()}
    assert names == {p.name for p in (day.folder / "figures").glob("*.svg")}
    assert names
