"""Feedback pages: one file each that needs no network. Formulas are MathML, figures are in the page, no script runs."""

from __future__ import annotations

import base64
import functools
import html
import re
from pathlib import Path
from typing import Any

import nbgrader
from nbconvert.exporters import HTMLExporter
from nbconvert.filters.highlight import Highlight2HTML
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from nbconvert.filters.widgetsdatatypefilter import WidgetsDataTypeFilter
from traitlets.config import Config

from ...base.errors import CourseError
from ...lessons import find_day
from .sanitising import sanitised

TEMPLATES = Path(__file__).parent / "templates"
FORMGRADER = Path(nbgrader.__file__).parent / "server_extensions" / "formgrader"
STOCK_TEMPLATES = FORMGRADER / "templates"
STYLES = FORMGRADER / "static" / "node_modules" / "bootstrap" / "dist" / "css"
FIGURE = re.compile(r"figures/[\w./-]+\.(?:svg|png)")
TYPES = {".svg": "image/svg+xml", ".png": "image/png"}


class FeedbackExporter(HTMLExporter):
    """The exporter for nbgrader's `generate_feedback`, with a template that loads nothing from elsewhere."""

    @property
    def default_config(self) -> Config:
        config = Config()
        # Under our own name: nbgrader sets the same options for HTMLExporter, and the nearer class wins.
        config.FeedbackExporter.template_name = "course_feedback"
        config.FeedbackExporter.extra_template_basedirs = [str(TEMPLATES), str(STOCK_TEMPLATES)]
        # Set, not left to nbconvert: formgrader's pages need other paths, and those are set for HTMLExporter.
        ours = _template_paths("course_feedback", TEMPLATES, STOCK_TEMPLATES)
        config.FeedbackExporter.template_paths = [*ours, str(STOCK_TEMPLATES), str(STYLES)]
        config.FeedbackExporter.exclude_anchor_links = True
        config.merge(super().default_config)
        return config

    def from_notebook_node(self, nb: Any, resources: Any = None, **options: Any) -> Any:
        self.folder = day_folder((resources or {}).get("nbgrader", {}).get("assignment", ""))
        resources = self._init_resources(resources)
        self.register_filter("highlight_code", _highlighted)
        self.register_filter("filter_data_type", WidgetsDataTypeFilter(notebook_metadata={}, parent=self))
        # Past HTMLExporter, which parses the finished page once more to add what is in it already.
        return super(HTMLExporter, self).from_notebook_node(nb, resources, **options)

    def default_filters(self) -> Any:
        yield from super().default_filters()
        yield "markdown2html", lambda source: rendered(source, self.folder)


@functools.cache
def _template_paths(name: str, *folders: Path) -> list[str]:
    """Return the search path that nbconvert itself would build for a template's parts."""
    return list(HTMLExporter(template_name=name, extra_template_basedirs=[str(folder) for folder in folders]).template_paths)


def formgrader_template_paths() -> list[str]:
    """Return the paths of the course's template parts, then nbgrader's. With these parts a grading page loads nothing from other sites."""
    return [str(TEMPLATES / "course_formgrade"), *_template_paths("formgrade", STOCK_TEMPLATES)]


# Most of a page is the lesson, the same for everybody.
@functools.lru_cache(maxsize=2000)
def rendered(source: str, folder: Path | None) -> str:
    """Return a text cell as HTML without scripts and without anything loaded from elsewhere, for a cell by any author."""
    renderer = _Renderer(escape=False, exclude_anchor_links=True, anchor_link_text="")
    renderer.folder = folder
    try:
        return sanitised(MarkdownWithMath(renderer=renderer).render(source))
    except Exception:  # no text cell is a reason to lose a page
        return f"<pre>{html.escape(source)}</pre>"


@functools.lru_cache(maxsize=2000)
def _highlight(source: str) -> str:
    try:
        return str(Highlight2HTML(pygments_lexer="ipython3")(source))
    except Exception:  # no cell of code is one either
        return f"<pre>{html.escape(source)}</pre>"


def _highlighted(source: str, **options: Any) -> str:
    return _highlight(source)


class _Renderer(IPythonRenderer):
    """A Markdown renderer with formulas as MathML and our figures in the page."""

    folder: Path | None = None
    """The day's folder, with its `figures/`."""

    def block_math(self, body: str) -> str:
        return mathml(body, display=True)

    def inline_math(self, body: str) -> str:
        return mathml(body, display=False)

    def latex_environment(self, name: str, body: str) -> str:
        return mathml(rf"\begin{{{name}}}{body}\end{{{name}}}", display=True)

    def image(self, text: str, url: str, title: str | None = None) -> str:
        ours = self.folder is not None and FIGURE.fullmatch(url) and ".." not in url
        path = self.folder / url if self.folder is not None and ours else None
        if path is None or not path.is_file():
            return f"<em>{html.escape(text)}</em>"
        data = base64.b64encode(path.read_bytes()).decode("ascii")
        return f'<img src="data:{TYPES[path.suffix]};base64,{data}" alt="{html.escape(text)}" style="max-width:100%">'


def mathml(tex: str, *, display: bool) -> str:
    """Return a formula as MathML, which browsers render by themselves. Return the formula as typed if it cannot be converted."""
    from latex2mathml.converter import convert

    try:
        return str(convert(html.unescape(tex).strip(), display="block" if display else "inline"))
    except Exception:  # the library names no base class for its errors, and one formula must not cost a page
        return f"<code>{html.escape(html.unescape(tex))}</code>"


def day_folder(assignment: str) -> Path | None:
    try:
        return find_day(assignment).folder
    except CourseError:
        return None
