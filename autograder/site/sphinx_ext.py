"""A Sphinx extension for formulas, accessibility, pictures and long lines.

Formulas become MathML, which browsers render by themselves. Pages get descriptions for screen readers and link previews, pictures get
their size in advance, and long lines of code are wrapped rather than cut.
"""

from __future__ import annotations

import html
import posixpath
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.util import logging
from sphinx.util.images import get_image_size

from .lesson_pages import ALT_END

FUNCTION = "(?:ln|log|exp|sin|cos|tan)"
THIN = '<mspace width="0.17em"></mspace>'

IMAGE = re.compile(r"<img [^>]*>")
SOURCE = re.compile(r'src="([^"]*)"')
WIDTH = re.compile(r' width="(\d+)"')
WIDE = 480
"""The width in pixels above which a picture scrolls in a box on a phone: shrunk to its width it would be unreadable."""
CODE = re.compile(r'(<div class="highlight-[^>]*>(?:<span id="[^"]*"></span>)*<div class="highlight"><pre>)(.*?)(?=</pre>)', re.DOTALL)
TAG = re.compile(r"<[^>]*>")
COLUMNS = 72
"""The number of characters of code that fit everywhere; a longer line is wrapped on narrow screens."""
WHY = "Why this lesson. "
PREVIEW = "check.png"
"""The picture for previews of links to the site."""

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
    """Insert the thin spaces around ln, sin and the like, which TeX sets but the converter omits."""
    made = re.sub(rf"(</(?:mi|mn|msub|msup|msubsup)>)(<mi>{FUNCTION}</mi>)", rf"\1{THIN}\2", made)
    return re.sub(rf'(<mi>{FUNCTION}</mi>)(?!<mo stretchy="false">&#x00028;)', rf"\1{THIN}", made)


def inline(translator: Any, node: nodes.math) -> None:
    translator.body.append(mathml(node.astext(), node, display=False))
    raise nodes.SkipNode


def block(translator: Any, node: nodes.math_block) -> None:
    translator.body.append(f'<div class="formula">{mathml(node.astext(), node, display=True)}</div>\n')
    raise nodes.SkipNode


def one_alt_each(app: Any, doctree: nodes.document) -> None:
    """Give each picture of a cell its own description; myst-nb gives all of them the same one."""
    for outputs in doctree.findall(nodes.container):
        if "cell_output" in outputs["classes"]:
            pictures = list(outputs.findall(nodes.image))
            for picture, alt in zip(pictures, pictures[0]["alt"].split(ALT_END) if pictures else [], strict=True):
                picture["alt"] = alt


def heading_levels(app: Any, pagename: str, templatename: str, context: dict[str, Any], doctree: Any) -> None:
    """Add a heading level to the captions of tables of contents; Sphinx gives them none."""
    for part in ("furo_navigation_tree", "body"):
        if part in context:
            context[part] = context[part].replace('class="caption" role="heading">', 'class="caption" role="heading" aria-level="2">')


def pictures(app: Any, pagename: str, templatename: str, context: dict[str, Any], doctree: Any) -> None:
    """Add each picture's size, so nothing moves when it loads, and load all pictures of a page but the first lazily."""
    if "body" not in context:
        return
    files = {name: Path(app.srcdir, source) for source, name in app.builder.images.items()}
    files |= {path.name: path for path in Path(app.srcdir).with_name("as_is").rglob("*.*")}
    first = True

    def one(image: re.Match[str]) -> str:
        nonlocal first
        source = SOURCE.search(image[0])
        path = files.get(posixpath.basename(unquote(source[1]))) if source else None
        width, height = (path and get_image_size(path)) or (0, 0)
        attributes = "" if first else ' loading="lazy"'
        first = False
        given = WIDTH.search(image[0])
        if width > 0 < height:
            attributes += f' height="{round(height * int(given[1]) / width)}"' if given else f' width="{width}" height="{height}"'
        tag = f"<img{attributes} {image[0].removeprefix('<img ')}"
        return f'<span class="picture">{tag}</span>' if width > WIDE else tag

    context["body"] = IMAGE.sub(one, context["body"])


def long_lines(app: Any, pagename: str, templatename: str, context: dict[str, Any], doctree: Any) -> None:
    """Mark long lines of code and their indentation, so the styles can wrap them. A cell's output is not wrapped."""
    if "body" in context:
        context["body"] = CODE.sub(lambda block: block[1] + broken(block[2]), context["body"])


def broken(code: str) -> str:
    """Split the HTML of code into lines, each with all its tags closed."""
    lines = code.split("\n")
    for number, line in enumerate(lines[:-1]):
        text = html.unescape(TAG.sub("", line))
        if len(text) > COLUMNS:
            indent = len(text) - len(text.lstrip())
            lines[number] = f'<span class="long" style="--indent:{indent}ch">{line}\n</span>'
        else:
            lines[number] = line + "\n"
    return "".join(lines)


def page_metadata(app: Any, pagename: str, templatename: str, context: dict[str, Any], doctree: Any) -> None:
    """Add metadata for search engines and link previews."""
    if doctree is None:
        return
    title = html.unescape(TAG.sub("", context.get("title", "")))
    tags = {"name": {"description": summary(doctree)}}
    tags["property"] = {"og:title": title, "og:description": summary(doctree), "og:type": "website", "og:site_name": app.config.html_title}
    if base := app.config.html_baseurl:
        tags["property"]["og:url"] = urljoin(base, app.builder.get_target_uri(pagename))
        if picture := next((name for source, name in app.builder.images.items() if posixpath.basename(source) == PREVIEW), None):
            tags["property"]["og:image"] = urljoin(base, f"{app.builder.imagedir}/{picture}")
    made = [
        f'<meta {key}="{name}" content="{html.escape(content)}">' for key, of in tags.items() for name, content in of.items() if content
    ]
    context["metatags"] = context.get("metatags", "") + "".join(made)


def summary(doctree: nodes.document) -> str:
    """Return a page's summary of at most some 200 characters: a lesson's first question, or another page's first paragraph."""
    paragraphs = [" ".join(node.astext().split()) for node in doctree.findall(nodes.paragraph)]
    why = next((text.removeprefix(WHY) for text in paragraphs if text.startswith(WHY)), None)
    text = why or next(iter(paragraphs), "")
    return text if len(text) <= 200 else text[:200].rsplit(" ", 1)[0] + " …"


def not_found(app: Any, pagename: str, templatename: str, context: dict[str, Any], doctree: Any) -> None:
    """Add a base address to the "not found" page. Browsers show it at any missing address, so its links must start at the site's root."""
    if pagename == "404" and (base := app.config.html_baseurl):
        context["metatags"] = f'<base href="{html.escape(urlsplit(base).path)}">' + context.get("metatags", "")


def setup(app: Any) -> dict[str, Any]:
    app.add_html_math_renderer("mathml", inline_renderers=(inline, None), block_renderers=(block, None))
    app.connect("doctree-read", one_alt_each)
    app.connect("html-page-context", heading_levels, priority=900)  # after the theme, which makes the navigation
    for change in (pictures, long_lines, page_metadata, not_found):
        app.connect("html-page-context", change)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
