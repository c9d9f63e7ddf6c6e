"""A Sphinx extension: formulas as MathML, which browsers set by themselves, and words for who cannot see a page."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.util import logging

from .lesson_pages import ALT_END

FUNCTION = "(?:ln|log|exp|sin|cos|tan)"
THIN = '<mspace width="0.17em"></mspace>'

log = logging.getLogger(__name__)


def mathml(tex: str, node: nodes.Node, *, display: bool) -> str:
    try:
        made = str(convert(tex.strip(), display="block" if display else "inline"))
    except Exception as error:  # the library names no base class for its errors
        log.warning("formula %r cannot be set: %s", tex, error, location=node)
        return f"<code>{nodes.unescape(tex)}</code>"
    if unknown := re.search(r">\\[A-Za-z]+<", made):
        log.warning("formula %r: %s is not known", tex, unknown[0], location=node)
    return spaced(made)


def spaced(made: str) -> str:
    """With the thin spaces around ln, sin and the like that TeX sets and the converter leaves out."""
    made = re.sub(rf"(</(?:mi|mn|msub|msup|msubsup)>)(<mi>{FUNCTION}</mi>)", rf"\1{THIN}\2", made)
    return re.sub(rf'(<mi>{FUNCTION}</mi>)(?!<mo stretchy="false">&#x00028;)', rf"\1{THIN}", made)


def inline(translator: Any, node: nodes.math) -> None:
    translator.body.append(mathml(node.astext(), node, display=False))
    raise nodes.SkipNode


def block(translator: Any, node: nodes.math_block) -> None:
    translator.body.append(f'<div class="formula">{mathml(node.astext(), node, display=True)}</div>\n')
    raise nodes.SkipNode


def one_alt_each(app: Any, doctree: nodes.document) -> None:
    """myst-nb gives all pictures of a cell the same words; here each gets its own."""
    for outputs in doctree.findall(nodes.container):
        if "cell_output" in outputs["classes"]:
            pictures = list(outputs.findall(nodes.image))
            for picture, alt in zip(pictures, pictures[0]["alt"].split(ALT_END) if pictures else [], strict=True):
                picture["alt"] = alt


def heading_levels(app: Any, pagename: str, templatename: str, context: dict[str, Any], doctree: Any) -> None:
    """Sphinx says that the captions of its tables of contents are headings, and not of which level."""
    for part in ("furo_navigation_tree", "body"):
        if part in context:
            context[part] = context[part].replace('class="caption" role="heading">', 'class="caption" role="heading" aria-level="2">')


def setup(app: Any) -> dict[str, Any]:
    app.add_html_math_renderer("mathml", inline_renderers=(inline, None), block_renderers=(block, None))
    app.connect("doctree-read", one_alt_each)
    app.connect("html-page-context", heading_levels, priority=900)  # after the theme, which makes the navigation
    return {"parallel_read_safe": True, "parallel_write_safe": True}
