"""The site of two days, built as `make docs` builds it: nothing fetched, no hidden check, answers folded or absent, usable by keyboard."""

import copy
import functools
import itertools
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from bs4 import BeautifulSoup

from autograder.checking.runner import load_checks, select
from autograder.lessons import find_day, lesson, marks, syllabus
from autograder.site import address, build, lesson_pages, wrong_versions

from ..lessons.test_lessons import _answers
from ..support import axe, lab

ROOT = Path(__file__).parents[2]
READY = [day for day in syllabus() if day.ready]
TWO = [find_day("softmax"), find_day("costs")]
LESSON, STEPPER = "days/day01_softmax.html", "days/day09_costs.html"
LOOKED_AT = ["index.html", LESSON, STEPPER, "cheat_sheet.html", "certification.html"]
# A complaint of Sphinx about myst-parser, once for each link.
pytestmark = pytest.mark.filterwarnings("ignore:.*MystReferenceResolver")
slow = pytest.mark.slow
browser = pytest.mark.browser


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Two days with their answers, by the command, which ends well: what the Pages workflow runs."""
    out = tmp_path_factory.mktemp("site") / "site"
    days = [word for day in TWO for word in ("--day", day.slug)]
    ran = subprocess.run([sys.executable, "-m", "autograder.site", "--out", out, *days], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
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
    found = (path for path in site.rglob("*") if path.suffix not in (".png", ".webp", ".woff2", ".inv", ".ico", ".zip") and path.is_file())
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
    assert set(parsed) - reached <= {"search.html", "genindex.html", "404.html"}
    assert {"cheat_sheet.html", "numbers.html", "functions.html", "certification.html", "results/grading.html"} <= reached


# What stands in it


@slow
def test_a_lesson_stands_there_with_its_outputs(site):
    soup = soups(site)[LESSON]
    assert len(soup.select("details.hint")) == 9
    tables = [table for table in soup.select(".check-table caption") if table.find_parent("details") is None]  # a wrong version's is folded
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
        for fold in soup.select("details.answer, details.hint, details.wrong"):
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
        assert marks.BEGIN not in text or name == "own_days.html", name  # where a class's own day is written
        assert wrong_versions.SUMMARY not in text, name
    assert not [path for kind in ("*.ipynb", "*.zip") for path in bare.rglob(kind)]  # a day's zip holds the answers of earlier days


@slow
def test_no_hidden_check_is_in_the_built_pages(site):
    names = hidden_names()
    for name, text in text_files(site).items():
        assert [check for check in names if check in text] == [], name


@slow
def test_each_day_can_be_taken_along_as_a_zip_without_its_answers(site):
    for day in TWO:
        link = soups(site)[f"days/{day.slug}.html"].find("a", string="this day as a zip")
        with zipfile.ZipFile(site / "days" / link["href"]) as archive:
            names = archive.namelist()
            assert f"from-prompt-to-token/course/{day.slug}/{day.slug}.ipynb" in names
            stubs = archive.read(f"from-prompt-to-token/solutions/{day.topic}.py").decode()
        assert answers_in(without_indentation(stubs)) == []


@slow
def test_each_lesson_shows_a_wrong_version_folded_with_what_the_checker_says(site):
    for day in TWO:
        (fold,) = soups(site)[f"days/{day.slug}.html"].select("details.wrong")
        assert not fold.has_attr("open")
        assert fold.find("summary").get_text() == wrong_versions.SUMMARY
        assert "Found:" in fold.select_one(".check-table").get_text()


@slow
def test_every_page_says_to_others_what_it_is_and_none_gives_an_address_that_is_not_known(site):
    for name, soup in soups(site).items():
        if name in ("search.html", "genindex.html"):
            continue
        for key, value in (("name", "description"), ("property", "og:title"), ("property", "og:description")):
            assert soup.find("meta", {key: value}), (name, value)
        assert soup.find("link", rel="icon") or soup.find("link", rel="shortcut icon"), name
        if not address.site():
            assert not soup.find("link", rel="canonical"), name
    why = soups(site)[LESSON].find("meta", {"name": "description"})["content"]
    assert not why.startswith("Day 1 ·")
    assert (site / ".nojekyll").exists()


@slow
def test_pictures_keep_their_place_and_come_when_they_are_near(site):
    for name, soup in soups(site).items():
        pictures = [img for img in soup.select("article img") if not img["src"].startswith("data:")]
        assert all(img.has_attr("width") and img.has_attr("height") for img in pictures), name
        assert [img.get("loading") for img in pictures[1:]] == ["lazy"] * len(pictures[1:]), name


@slow
def test_each_stepper_shows_its_first_step_without_a_script(site):
    steppers = soups(site)[STEPPER].select(".course-stepper")
    assert len(steppers) == 3
    for stepper in steppers:
        assert len(stepper.select("svg *")) > 10
        assert stepper.select_one("[data-part=words]").get_text()


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
        # A file may not fetch its neighbour: the search shows its hits there without their first lines.
        page.on("pageerror", lambda error: errors.append(str(error)) if str(error) != "Failed to fetch" else None)
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


CUT = """() => [...document.querySelectorAll("article pre")]
    .filter((box) => box.clientWidth && box.scrollWidth > box.clientWidth && !box.closest(".cell_output"))
    .map((box) => box.textContent.slice(0, 60))"""
OPEN = "() => document.querySelectorAll('article details').forEach((fold) => { fold.open = true; })"


@slow
@browser
@pytest.mark.parametrize("name", [LESSON, STEPPER, "checks/softmax.html", "checks/costs.html"])
def test_no_code_is_wider_than_its_box(visit, name):
    page = visit(name, viewport={"width": 1280, "height": 900})
    page.evaluate(OPEN)
    assert page.evaluate(CUT) == []
    long = "[...document.querySelectorAll('article pre .long')]"
    if name == "checks/costs.html":
        assert page.evaluate(f"{long}.some((line) => line.getClientRects().length && line.offsetHeight > 25)")  # one is broken


@slow
@browser
def test_code_that_is_broken_is_copied_whole(visit):
    page = visit("checks/costs.html", viewport={"width": 1280, "height": 900})
    copied, there = page.evaluate("""() => {
        const box = document.querySelector("article pre:has(.long)");
        getSelection().selectAllChildren(box);
        return [getSelection().toString(), box.textContent];
    }""")
    assert copied.strip() == there.strip()


@slow
@browser
def test_on_paper_nothing_is_cut(visit):
    page = visit(LESSON, viewport={"width": 794, "height": 1123})
    page.emulate_media(media="print")
    boxes = "[...document.querySelectorAll('article pre, article .table-wrapper, .picture, .drawing')]"
    assert page.evaluate(f"{boxes}.filter((box) => box.clientWidth && box.scrollWidth > box.clientWidth + 1).length") == 0
    assert page.evaluate("[...document.querySelectorAll('article pre')].every((box) => getComputedStyle(box).maxHeight === 'none')")
    fixed = "[...document.querySelectorAll('body *')].filter((e) => getComputedStyle(e).position === 'fixed' && e.getClientRects().length)"
    assert page.evaluate(f"{fixed}.length") == 0  # a fixed element is printed over every page


@slow
@browser
def test_on_a_phone_figures_keep_their_letters_and_scroll_in_a_box_with_a_name(visit):
    page = visit(LESSON, viewport={"width": 390, "height": 800})
    boxes = page.locator(".picture")
    assert boxes.count()
    for box in boxes.all():
        assert box.locator("img").bounding_box()["width"] >= 600
        assert box.get_attribute("tabindex") == "0"
        assert box.get_attribute("role") == "group"
        assert re.match("Picture under “.+”, scrolls", box.get_attribute("aria-label"))


@slow
@browser
def test_on_a_phone_the_front_page_shows_its_picture_whole(visit):
    box = visit("index.html", viewport={"width": 390, "height": 800}).locator("img[src$='/check.png']").bounding_box()
    assert 0 <= box["x"] < box["x"] + box["width"] <= 390


@slow
@browser
def test_a_search_from_the_disk_says_how_to_get_excerpts(visit):
    page = visit("search.html?q=softmax")
    page.wait_for_selector("ul.search li a")
    assert "python -m http.server" in page.locator(".no-excerpts").inner_text()


@slow
@browser
def test_the_playground_is_moved_by_keys_and_says_what_is_left(visit):
    page = visit("index.html", viewport={"width": 390, "height": 800})
    words = page.locator(".playground [data-part=words]")
    first = words.inner_text()
    assert first.startswith("49,152 of 49,152 tokens are left")
    page.get_by_label("top-k").focus()
    for _ in range(3):  # from off over 1 and 2
        page.keyboard.press("ArrowRight")
    assert words.inner_text().startswith("3 of 49,152 tokens are left")
    assert page.locator(".playground .bar").count() == 3
    page.get_by_label("top-p").focus()
    page.keyboard.press("Home")
    assert words.inner_text().startswith("1 token is left")
    page.get_by_label("temperature").focus()
    page.keyboard.press("Home")
    assert page.get_by_label("temperature").get_attribute("aria-valuetext") == "0.00"
    page.get_by_role("button", name="Reset").press("Enter")
    assert words.inner_text() == first


@slow
@browser
def test_without_scripts_the_steppers_and_the_playground_are_pictures(visit):
    page = visit(STEPPER, java_script_enabled=False)
    stepper = page.locator(".course-stepper").first
    assert stepper.locator("svg").bounding_box()["height"] > 100
    assert not stepper.get_by_role("button", name="Next step").is_visible()
    assert "need JavaScript" in stepper.inner_text()


@slow
@browser
def test_a_search_for_a_function_finds_its_exercise_first(visit):
    page = visit("search.html?q=log_softmax")
    page.wait_for_selector("ul.search li a")
    assert page.locator("ul.search li a").first.get_attribute("href").startswith("days/day01_softmax.html#")
    page = visit("search.html?q=softmax")
    page.wait_for_selector("ul.search li a")
    found = [link.get_attribute("href") for link in page.locator("ul.search li a").all()]
    assert not any(link.startswith(("certification", "mutants", "attacks")) for link in found[:5]), found[:5]


@slow
@browser
@pytest.mark.parametrize("name", [*LOOKED_AT, "numbers.html", "functions.html", "checks/softmax.html"])
def test_no_page_is_wider_than_a_phone(visit, name):
    page = visit(name, viewport={"width": 360, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


@slow
@browser
@pytest.mark.parametrize(
    ("name", "theme"),
    [*((name, "light") for name in LOOKED_AT), (LESSON, "dark"), (STEPPER, "dark"), ("index.html", "dark")],
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
