"""The site of two days, built as `make docs` builds it: nothing fetched, no hidden check, answers folded or absent, usable by keyboard."""

import copy
import functools
import itertools
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from bs4 import BeautifulSoup

from autograder.lessons import find_day, lesson, marks, syllabus
from autograder.runner import load_checks, select
from autograder.site import build, lesson_pages

from . import axe, lab
from .test_lessons import _answers

ROOT = Path(__file__).parents[1]
READY = [day for day in syllabus() if day.ready]
TWO = [find_day("softmax"), find_day("costs")]
LESSON, STEPPER = "days/day01_softmax.html", "days/day09_costs.html"
# A complaint of Sphinx about myst-parser, once for each link.
pytestmark = pytest.mark.filterwarnings("ignore:.*MystReferenceResolver")
slow = pytest.mark.slow
browser = pytest.mark.browser


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Two days with their answers. Their notebooks are run unless `make docs` has run them already."""
    out = tmp_path_factory.mktemp("site") / "site"
    build.build(out, days=TWO)
    return out


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """The same without answers."""
    out = tmp_path_factory.mktemp("bare") / "site"
    build.build(out, days=TWO, answers=False)
    return out


@functools.cache
def soups(site: Path) -> dict[str, BeautifulSoup]:
    return {str(path.relative_to(site)): BeautifulSoup(path.read_text(), "html.parser") for path in sorted(site.rglob("*.html"))}


def text_files(site: Path) -> dict[str, str]:
    found = (path for path in site.rglob("*") if path.suffix not in (".png", ".woff2", ".inv", ".ico") and path.is_file())
    return {str(path.relative_to(site)): path.read_text(encoding="utf-8") for path in found}


def without_indentation(text: str) -> str:
    return "\n".join(line.strip() for line in text.split("\n"))


def answers_in(text: str) -> list[str]:
    """Two lines in a row are an answer; see test_lessons."""
    found = []
    for module in sorted((ROOT / "solutions").glob("*.py")):
        for answer in _answers(module):
            pairs = [f"{first}\n{second}" for first, second in itertools.pairwise(answer)] or answer
            found += [pair for pair in pairs if pair in text]
    return found


def hidden_names() -> set[str]:
    """Names that only hidden checks have."""
    checks = [check for day in READY for check in load_checks(day.topic)]
    return {check.name for check in checks if check.hidden} - {check.name for check in checks if not check.hidden}


# What a page asks for


@slow
def test_no_page_asks_for_anything_outside(site):
    asked = []
    for name, soup in soups(site).items():
        for tag in soup.find_all(["script", "img", "iframe", "source", "video", "audio", "embed", "object", "link"]):
            if tag.name == "link" and not {"stylesheet", "icon", "preload", "preconnect", "dns-prefetch"} & set(tag.get("rel", [])):
                continue
            addresses = [tag.get(key) for key in ("src", "href", "data", "srcset")]
            asked += [(name, a) for a in addresses if a and not a.startswith("data:") and re.match(r"[a-z]+:|//", a)]
    for name, text in text_files(site).items():
        if name.endswith(".css"):
            asked += [(name, a) for a in re.findall(r"(?:url\(|@import)\s*['\"]?((?:https?:)?//[^'\")]+)", text)]
        if name.endswith(".html"):
            asked += [(name, word) for word in ("mathjax.js", "tex-mml", "unpkg", "jsdelivr", "googleapis") if word in text.lower()]
    assert asked == []


@slow
def test_every_link_within_the_site_leads_somewhere(site):
    parsed, broken = soups(site), []
    anchors = {name: {tag["id"] for tag in soup.find_all(id=True)} for name, soup in parsed.items()}
    for name, soup in parsed.items():
        for link in soup.find_all("a", href=True):
            parts = urlsplit(link["href"])
            if parts.scheme:
                continue
            target = (site / name).parent / unquote(parts.path) if parts.path else site / name
            page = str(target.resolve().relative_to(site.resolve()))
            if not target.exists() or (parts.fragment and page in anchors and unquote(parts.fragment) not in anchors[page]):
                broken.append((name, link["href"]))
    assert broken == []


@slow
def test_every_page_is_reached_from_the_first(site):
    parsed = soups(site)
    reached, waiting = set(), ["index.html"]
    while waiting:
        name = waiting.pop()
        if name in reached or name not in parsed:
            continue
        reached.add(name)
        found = (urlsplit(link["href"]) for link in parsed[name].find_all("a", href=True))
        waiting += [str(((site / name).parent / f.path).resolve().relative_to(site.resolve())) for f in found if f.path and not f.scheme]
    assert set(parsed) - reached <= {"search.html", "genindex.html"}
    assert {"cheat_sheet.html", "instructor.html", "grading.html", "certification.html", "results/grading.html"} <= reached


# What stands in it


@slow
def test_a_lesson_stands_there_with_its_outputs(site):
    soup = soups(site)[LESSON]
    assert len(soup.select("details.hint")) == 9
    tables = soup.select(".check-table caption")
    assert len(tables) == len(lesson(TWO[0]).exercises)
    for table, exercise in zip(tables, lesson(TWO[0]).exercises, strict=True):
        n = len(select(TWO[0].topic, exercise=exercise.name, hidden=False))
        assert table.get_text() == f"{exercise.name}: {n} of {n} checks pass, {exercise.points} of {exercise.points} points"
    plots = soup.select(".cell_output img")
    assert plots
    assert all(plot["alt"].startswith("Plot. ") for plot in plots), [plot["alt"] for plot in plots]
    assert len({plot["alt"] for plot in plots}) == len(plots)
    assert soup.find("math") is not None
    assert "Day 1 · 90 minutes · easy" in soup.get_text()


@slow
def test_every_picture_says_what_it_shows(site):
    silent = [(name, img["src"]) for name, soup in soups(site).items() for img in soup.find_all("img") if not img.get("alt", "").strip()]
    assert silent == []


@slow
def test_answers_are_there_and_folded(site):
    for name in (LESSON, STEPPER):
        soup = copy.copy(soups(site)[name])
        folds = soup.select("details.answer")
        day = next(day for day in TWO if day.slug in name)
        assert [fold.find("summary").get_text() for fold in folds] == [lesson_pages.ANSWER] * len(lesson(day).exercises)
        assert not any(fold.has_attr("open") for fold in folds)
        assert answers_in(without_indentation(soup.get_text()))
        for fold in soup.select("details.answer, details.hint"):
            fold.decompose()
        assert answers_in(without_indentation(soup.get_text())) == []


@slow
def test_a_site_without_answers_holds_none(bare):
    for name, soup in soups(bare).items():
        if name.startswith("checks/"):  # the students' own files, slow ways to do it included
            continue
        for fold in soup.select("details.hint"):  # the third is nearly the code, on purpose, and stands in every notebook
            fold.decompose()
        assert answers_in(without_indentation(soup.get_text())) == [], name
        assert lesson_pages.ANSWER not in soup.get_text()
    for name, text in text_files(bare).items():
        assert marks.BEGIN not in text, name
    assert not list(bare.rglob("*.ipynb"))


@slow
def test_no_hidden_check_is_in_the_built_pages(site):
    names = hidden_names()
    for name, text in text_files(site).items():
        assert [check for check in names if check in text] == [], name


# In a browser, with the network refused


@pytest.fixture(scope="module")
def chromium():
    if lab.CHROMIUM is None:
        pytest.skip("no chromium on this machine (Debian: apt-get install chromium)")
    pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with lab.chromium() as opened:
        yield opened


@pytest.fixture
def visit(chromium, site):
    """Opens a page of the site; in the end nothing outside may have been asked for, and no script may have failed."""
    contexts, wanted, errors = [], [], []

    def opened(name: str, **options):
        context = chromium.new_context(offline=True, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("request", lambda request: wanted.append(request.url))
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(f"file://{site}/{name}")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert [url for url in wanted if not url.startswith(("file://", "data:"))] == []
    assert errors == []


@slow
@browser
def test_the_stepper_works_by_click_and_by_keyboard(visit):
    page = visit(STEPPER)
    stepper = page.locator(".course-stepper:has([data-part=prompt])").first
    words = stepper.locator("[data-part='words']")
    assert words.inner_text().startswith("Prefill")
    stepper.get_by_role("button", name="Next step").click()
    assert words.inner_text().startswith("Decode step 1 ")
    page.keyboard.press("Enter")
    assert words.inner_text().startswith("Decode step 2 ")
    stepper.get_by_role("button", name="Previous step").focus()
    page.keyboard.press("Space")
    assert words.inner_text().startswith("Decode step 1 ")
    stepper.get_by_label("machine").focus()
    before = words.inner_text()
    page.keyboard.press("ArrowDown")
    assert words.inner_text() != before


@slow
@browser
def test_folds_open_by_click_and_by_keyboard(visit):
    page = visit(LESSON)
    answer, hint = page.locator("details.answer").first, page.locator("details.hint").first
    code = answer.locator("pre")
    assert not code.is_visible()
    answer.locator("summary").click()
    assert code.is_visible()
    hint.locator("summary").focus()
    page.keyboard.press("Enter")
    assert hint.get_attribute("open") is not None


@slow
@browser
@pytest.mark.parametrize("name", ["index.html", LESSON, STEPPER, "cheat_sheet.html", "certification.html", "checks/softmax.html"])
def test_no_page_is_wider_than_a_phone(visit, name):
    page = visit(name, viewport={"width": 360, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


@slow
@browser
@pytest.mark.parametrize(
    ("name", "theme"),
    [(name, "light") for name in ("index.html", LESSON, STEPPER, "cheat_sheet.html", "certification.html")] + [(LESSON, "dark")],
)
def test_axe_finds_nothing_serious(visit, name, theme):
    pytest.importorskip("axe_playwright_python", reason="axe-playwright-python is not installed")
    page = visit(name, color_scheme=theme)
    page.evaluate("document.querySelectorAll('article details').forEach((fold) => { fold.open = true; })")
    assert axe.violations(page) == []


@slow
@browser
def test_nothing_moves_for_whoever_asks_for_less_motion(visit):
    moving = "document.querySelectorAll('article details').forEach((fold) => { fold.open = true; }); document.getAnimations().length"
    assert visit(LESSON).evaluate(moving) > 0  # else this test would show nothing
    assert visit(LESSON, reduced_motion="reduce").evaluate(moving) == 0
