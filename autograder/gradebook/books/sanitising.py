"""The HTML that is allowed on a page that somebody with more rights opens, judged after rendering, by allow lists.

A filter and a renderer can read the same source differently: `[x](javascript\\:f())` is not a script until Markdown has removed the
backslash. So the rendered page is parsed and rebuilt from known tags, attributes and addresses.
"""

from __future__ import annotations

import functools
import html
import re
import unicodedata
from html.parser import HTMLParser

from bleach.sanitizer import Cleaner

_TEXT_TAGS = """
a abbr b blockquote br caption center code dd del details div dl dt em figcaption figure h1 h2 h3 h4 h5 h6 hr i img ins kbd li ol p pre
q s samp small span strong sub summary sup table tbody td tfoot th thead tr u ul var
"""
_MATH_TAGS = """
math maction menclose merror mfenced mfrac mi mmultiscripts mn mo mover mpadded mphantom mprescripts mroot mrow ms mspace msqrt mstyle
msub msubsup msup mtable mtd mtext mtr munder munderover none semantics
"""
_MATH_ATTRIBUTES = """
accent accentunder align close columnalign columnlines columnspacing depth dir display displaystyle fence form frame height
largeop linethickness lspace mathsize mathvariant maxsize minsize movablelimits notation open rowlines rowspacing rspace scriptlevel
separator separators stretchy symmetric voffset width xmlns
"""
TEXT_TAGS, MATH_TAGS, MATH_ATTRIBUTES = (frozenset(names.split()) for names in (_TEXT_TAGS, _MATH_TAGS, _MATH_ATTRIBUTES))
MATH_VALUE = re.compile(r"[\w .,%#+()\[\]{}|/‖⟨⟩⌈⌉⌊⌋-]{0,60}|http://www\.w3\.org/1998/Math/MathML")
_LENGTHS = "columnspacing depth height linethickness lspace mathsize maxsize minsize rowspacing rspace voffset width"
LENGTHS = frozenset(_LENGTHS.split())
LENGTH = re.compile(r"(?:[+-]?(?:\d{1,2}|\d{0,2}\.\d{1,8})(?:em|ex|mu)?|[+-]?\d{1,3}(?:\.\d{1,8})?(?:px|pt|%)|[a-z]{1,20})")
"""A length in a formula, below a hundred of its letters: a larger one would cover the grader's page."""
ATTRIBUTES: dict[str, dict[str, re.Pattern[str]]] = {
    "a": {"title": re.compile(r".{0,300}", re.DOTALL)},
    "details": {"data-exercise": re.compile(r"\w+"), "open": re.compile("|open")},
    "img": {"alt": re.compile(r".*", re.DOTALL), "title": re.compile(r".{0,300}", re.DOTALL)},
    "ol": {"start": re.compile(r"\d{1,6}")},
    "td": {"colspan": re.compile(r"\d{1,2}"), "rowspan": re.compile(r"\d{1,2}")},
    "th": {"colspan": re.compile(r"\d{1,2}"), "rowspan": re.compile(r"\d{1,2}"), "scope": re.compile("col|row")},
}
# Ours, and those by which Pygments colours code; others might be what a page's own script looks for.
CLASSES = re.compile(r"highlight|hint|verdict-head|check-table|mathjax_ignore|tex2jax_ignore|language-[\w+-]+|[a-z][a-z0-9]{0,2}")
STYLE = re.compile(r"\s*(?:text-align:\s*(?:left|right|center)|max-width:\s*100%)\s*;?\s*")
LINK = re.compile(r"https?://[^\s\\]+|mailto:[^\s\\]+|#[^\s\\]*", re.IGNORECASE)
PICTURE = re.compile(r"data:image/(?:svg\+xml|png);base64,[A-Za-z0-9+/=]*")
OUR_FIGURE = re.compile(r"figures/[\w./-]+\.(?:svg|png)")
# Commands that MathJax, with which JupyterLab sets formulas, turns into attributes, links, files or other commands.
_COMMANDS = """
style class cssId href url require unicode data html\\w* bbox mmlToken includegraphics csname def let newcommand newenvironment
renewcommand texttip tooltip action toggle
"""
TEX = re.compile(rf"\\\s*(?:{'|'.join(_COMMANDS.split())})\b", re.IGNORECASE)
SCRIPTS = re.compile(r"script:|data:")


def sanitised(page: str) -> str:
    """Return HTML with allowed parts only. Any other tag is removed, but the text inside it stays."""
    return str(_cleaner().clean(page))


def _cleaner() -> Cleaner:
    # A cleaner keeps its parser's state: one for each call, for pages are made in several threads.
    return Cleaner(
        tags={*TEXT_TAGS, *MATH_TAGS}, attributes=_is_allowed, protocols={"http", "https", "mailto", "data"},
        strip=True, strip_comments=True, css_sanitizer=_AsItStands(),
    )  # fmt: skip


class _AsItStands:
    """A CSS sanitizer that changes nothing: STYLE has already checked the styles."""

    def sanitize_css(self, style: str) -> str:
        return style


def _is_allowed(tag: str, name: str, value: str) -> bool:
    value = html.unescape(value)
    if tag in MATH_TAGS:
        if name in LENGTHS and not all(map(LENGTH.fullmatch, value.split())):
            return False
        return name in MATH_ATTRIBUTES and MATH_VALUE.fullmatch(value) is not None
    match name:
        case "href":
            return tag == "a" and is_allowed_link(value)
        case "src":
            return tag == "img" and PICTURE.fullmatch(value) is not None
        case "class":
            return all(map(CLASSES.fullmatch, value.split()))
        case "style":
            return STYLE.fullmatch(value) is not None
    pattern = ATTRIBUTES.get(tag, {}).get(name)
    return pattern is not None and pattern.fullmatch(value) is not None


def is_allowed_link(address: str) -> bool:
    """Return whether a link leads to a page, a mailbox or a place on this page, without characters that browsers ignore."""
    return LINK.fullmatch(address) is not None and not any(unicodedata.category(c) in ("Cc", "Cf") for c in address)


def is_plain(source: str, page: str) -> bool:
    """Return whether a student's Markdown may stay Markdown. page: its rendering, unchanged.

    Different programs render Markdown differently. So the source is checked, too, without characters that a program might ignore.
    """
    seen = unicodedata.normalize("NFKC", html.unescape(source))
    seen = "".join(c for c in seen if c != "\\" and not c.isspace() and unicodedata.category(c) not in ("Cc", "Cf")).casefold()
    if SCRIPTS.search(seen) or TEX.search(source):
        return False
    return all(is_allowed_link(a) for a in _addresses(page, "href")) and all(OUR_FIGURE.fullmatch(a) for a in _addresses(page, "src"))


@functools.lru_cache(maxsize=64)
def _parsed(page: str) -> _Addresses:
    parser = _Addresses()
    parser.feed(page)
    parser.close()
    return parser


def _addresses(page: str, attribute: str) -> list[str]:
    return _parsed(page).found.get(attribute, [])


class _Addresses(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: dict[str, list[str]] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            self.found.setdefault(name, []).append(value or "")
