"""Nothing that a student writes runs in an instructor's browser: the rendered page is judged, not its source."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser

import pytest

from autograder.gradebook.books import reading
from autograder.gradebook.books.feedback import rendered
from autograder.gradebook.books.pages import NO_TEX, head, outputs
from autograder.gradebook.books.reading import _clean_cells, may_be_markdown
from autograder.gradebook.books.sanitising import MATH_TAGS, TEXT_TAGS, is_allowed_link, sanitised
from autograder.lessons import find_day

DAY = find_day("softmax")
LINKS = [
    "javascript:alert(1)", "JaVaScRiPt:alert(1)", r"javascript\:alert(1)", r"java\script:alert(1)", "javascript&colon;alert(1)",
    "java&#115;cript:alert(1)", "java&#x0A;script:alert(1)", "java%0ascript:alert(1)", "&#1;javascript:alert(1)",
    "<javascript:alert(1)>", "<java\tscript:alert(1)>", "vbscript:msgbox(1)", "data:text/html,<script>alert(1)</script>",
    "data:text/html;base64,PHNjcmlwdD4=", "data:image/svg+xml;base64,PHN2Zz4=", "file:///etc/passwd", "//host/x", r"\\host\x",
    "/formgrader/x", "page.html", "../ada/x.svg", "blob:x", "ht\u200btps://x", "java\u00adscript:alert(1)", "javascript\u200b:alert(1)",
    "files/javascript:alert(1)", r"https:\\host", "intent://x", "view-source:x",
]  # fmt: skip
SOURCES = [
    *(f"[x]({link})" for link in LINKS),
    *(f"![x]({link})" for link in LINKS),
    *(f"[x]\n\n[x]: {link}" for link in LINKS),
    *(f'<a href="{link}">x</a>' for link in LINKS),
    *(f"<{link}>" for link in LINKS),
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<svg onload=alert(1)>", "<svg><script>alert(1)</script></svg>",
    "<iframe src='https://x'></iframe>", "<object data='x.svg'></object>", "<embed src=x>",
    "<form action='https://x'><input name=a></form>",
    "<base href='https://x/'>", "<meta http-equiv=refresh content='0;url=https://x'>", "<link rel=stylesheet href='https://x'>",
    "<style>body{background:url(//x)}</style>", "<p style='background:url(//x)'>x</p>", "<details ontoggle=alert(1) open>x</details>",
    "<math><mtext><style><img src=x onerror=alert(1)></style></mtext></math>", "<math href='javascript:alert(1)'>x</math>",
    "<math><maction actiontype='statusline#https://x' xlink:href='javascript:alert(1)'>x</maction></math>",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>", "<!-- <img src=x onerror=alert(1)> -->",
    "<a id=check_softmax name=x>x</a>",
    "<p class='score tabbable'>x</p>", "<p title='\n\n$\\text{\" onmouseover=alert(1) x=\"}$ '>",
    "```mermaid\n<img src=x onerror=alert(1)>\n```",
    "```mermaid\nclick A \"javascript:alert(1)\"\n```",
    r"$\style{background:url(//host)}{x}$", r"$\class{score}{x}$", r"$\href{javascript:alert(1)}{x}$", r"$$\href{https://host}{x}$$",
    r"$\url{javascript:alert(1)}$", r"$\require{html}\cssId{check_softmax}{x}$", r"$\unicode[url(//host)]{x}$", r"$\data{x=1}{x}$",
    r"\begin{equation}\style{position:fixed}{x}\end{equation}", r"$\color{red;background:url(//host)}{x}$",
    r"$\text{<img src=x onerror=alert(1)>}$",
    r"$\let\x\href \x{javascript:alert(1)}{y}$", r"$\def\x{\href}\x{javascript:alert(1)}{y}$",
    r"$\mathrm{&lt;img src=x onerror=alert(1)&gt;}$",
    r"$\includegraphics{//host/x.png}$", r"$\operatorname{x\href{javascript:alert(1)}{y}}$", r"\\[javascript:alert(1)\\]",
]  # fmt: skip


class Page(HTMLParser):
    """Tags and attributes as a browser reads them: entities are resolved."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]


def trouble(page: str) -> list[str]:
    """What a browser might run or load, or what a page's own script could take for its own."""
    found = Page(page)
    lines = [tag for tag in found.tags if tag not in {*TEXT_TAGS, *MATH_TAGS}]
    for tag, name, value in found.attributes:
        plain = re.sub(r"[\s\x00-\x20\u00ad\u200b]|\\", "", html.unescape(value)).casefold()
        if name == "href":
            ok = tag == "a" and re.match(r"(https?://|mailto:|#)", value) is not None
        elif name == "src":
            ok = tag == "img" and value.startswith(("data:image/svg+xml;base64,", "data:image/png;base64,"))
        elif name == "xmlns":
            ok = value == "http://www.w3.org/1998/Math/MathML"
        else:
            ok = not name.startswith("on") and name not in ("id", "name", "actiontype", "xlink:href", "action", "srcset")
            ok = ok and not re.search(r"url\(|expression|//", plain)
            ok = ok and not (name == "class" and set(value.split()) & {"score", "tabbable", "mermaid"})
        lines += [] if ok else [f"{tag} {name}={value}"]
    return lines


@pytest.mark.parametrize("source", SOURCES)
def test_no_page_made_of_it_runs_or_loads_anything(source):
    assert trouble(rendered(source, DAY.folder)) == []
    assert trouble(rendered(f"Some words.\n\n* {source}\n\n> {source}", None)) == []


@pytest.mark.parametrize("source", SOURCES)
def test_the_graded_notebook_shows_it_as_it_was_typed(source):
    """Whoever opens it has a renderer of his own: what might be live there is no Markdown any more."""
    [cell] = _clean_cells([{"cell_type": "markdown", "source": source}], set())
    assert cell.source.startswith("<pre>") or trouble(rendered(source, DAY.folder)) == [] == live(source)
    if cell.source.startswith("<pre>"):
        assert "$" not in cell.source
        assert "\\" not in cell.source


def live(source: str) -> list[str]:
    """What nbconvert's own renderer, which strips nothing, makes of it."""
    from nbconvert.filters.markdown_mistune import markdown2html_mistune

    page = markdown2html_mistune(source)
    seen = [line for line in trouble(page) if not line.startswith("img src=figures/")]
    return seen + re.findall(r"\\(?:href|style|class|url|require)", page)


@pytest.mark.parametrize("source", [
    "# My notes\n\nI **think** so: $e^x / \\sum e^x$, see [the paper](https://arxiv.org/abs/1904.09751) or [below](#x).",
    "| a | b |\n|---|:-:|\n| 1 | `x` |", "```python\nx = 1\n```", "1. one\n2. two", "[mail](mailto:a@b.org)",
])  # fmt: skip
def test_what_students_write_stays_as_it_is(source):
    from nbconvert.filters.markdown_mistune import markdown2html_mistune

    assert may_be_markdown(source)
    ours, stock = Page(re.sub(r"<math.*?</math>", "", rendered(source, DAY.folder))), Page(markdown2html_mistune(source))
    inside = [tag for tag in stock.tags if tag != "a"]  # nbconvert puts an anchor into each heading
    assert [tag for tag in ours.tags if tag != "a"] == inside
    assert [a for a in stock.attributes if a[1] == "href" and a in ours.attributes] == [a for a in ours.attributes if a[1] == "href"]
    assert len(re.findall(r"\]\(", source)) == sum(a[1] == "href" for a in ours.attributes)


def test_texts_that_take_a_renderer_long_are_shown_as_they_were_typed():
    long = "$a" * (reading.MAX_MARKDOWN_CHARACTERS // 2 + 1)
    many = [f"some words, {n} " + "x" * 1000 for n in range(2 * reading.MAX_MARKDOWN_IN_ALL // 1000)]
    cells = _clean_cells([{"cell_type": "markdown", "source": text} for text in [long, *many]], set())
    typed = [cell.source.startswith("<pre>") for cell in cells]
    assert typed[0]
    assert not any(typed[1:40])
    assert all(typed[60:])
    ours = _clean_cells([{"cell_type": "markdown", "source": text} for text in [long, *many]], {long, *many})
    assert not any(cell.source.startswith("<pre>") for cell in ours)


def test_links_are_judged_as_a_browser_reads_them():
    assert [link for link in LINKS if is_allowed_link(html.unescape(link))] == []
    assert all(map(is_allowed_link, ("https://a.org/b?c=d&e", "http://a.org", "mailto:a@b.org", "#here")))


def test_our_figure_comes_into_the_page_and_nobody_elses():
    figure = next((DAY.folder / "figures").glob("*.svg"))
    assert 'src="data:image/svg+xml;base64,' in rendered(f"![a](figures/{figure.name})", DAY.folder)
    assert "src=" not in rendered("![a](figures/../../../x.svg)", DAY.folder)


def test_a_formula_keeps_its_shape():
    page = rendered(r"$\frac{e^{x_i}}{\sum_j e^{x_j}}$ and $$\begin{pmatrix}1 & 2\\ 3 & 4\end{pmatrix}$$", None)
    assert {"math", "mfrac", "msub", "mtable", "mtd"} <= set(Page(page).tags)
    assert sanitised(page) == page


def test_messages_are_no_formulas_where_a_notebook_is_opened(a_record):
    """JupyterLab sets what stands between dollar signs, in outputs too."""
    table = outputs(a_record, "softmax")[0].data["text/html"]
    assert table.startswith(f'<div class="{NO_TEX}">')
    assert NO_TEX in head(a_record)
    assert trouble(rendered(head(a_record), None)) == []
    assert trouble(table.replace("white-space", "x")) == []


@pytest.fixture
def a_record():
    from autograder.base.verdicts import Verdict
    from autograder.grading.records import ExerciseScore, Record

    evil = r"$\href{javascript:alert(1)}{x}$ <script>alert(1)</script>"
    verdict = Verdict("test_a", "softmax", "title", 1.0, False, "error", evil, evil, evil, evil, lines=[evil])
    score = ExerciseScore("softmax", 0.0, 4.0)
    return Record("ada", DAY.slug, "softmax", "1", 0, "none", "here", "", "", [verdict], [score], {evil: evil})


@pytest.mark.parametrize(
    ("length", "stays"),
    [
        ("0.1667em", True), ("-0.5ex", True), ("+1em", True), ("1em 2em", True), ("120%", True), ("thickmathspace", True),
        (".5em", True), ("100em", False), ("99999px", False), ("1e9em", False), ("1em 400em", False), ("12345", False), ("1000%", False),
        ("-9999em", False),
    ],
)  # fmt: skip
def test_no_formula_is_so_large_that_it_covers_the_page(length, stays):
    page = sanitised(f'<math><mspace width="{length}"></mspace><mo minsize="{length}">(</mo></math>')
    assert page.count(f'"{length}"') == 2 * stays


def test_tex_with_an_endless_length_loses_it():
    page = rendered(r"$\hspace{99999em} x \rule{1em}{500em}$ and $\frac{a}{b} \quad c$", None)
    assert "99999em" not in page
    assert "500em" not in page
    assert "<mfrac>" in page
