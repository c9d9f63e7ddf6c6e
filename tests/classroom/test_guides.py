"""A student's first hour and an instructor's first class, as their guides describe them: in a fresh clone, in a real browser."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from autograder.lessons import syllabus

from ..support import lab
from ..support.guides import ROOT, SECOND_TRY, clone, fences, run_block
from ..support.submissions import SOFTMAX
from .test_instructor import SERVER, download
from .test_instructor import lab as instructors_lab

pytestmark = [pytest.mark.browser, pytest.mark.slow]

if lab.CHROMIUM is None:
    pytest.skip("no chromium on this machine (Debian: apt-get install chromium)", allow_module_level=True)
pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

SLUG = SOFTMAX.slug
CORRECTION = r"^Type ([\d.]+) into the box above the check, and press Tab"
ROSTER = """id,lms_id,name,email
ada,101,"Lovelace, Ada",ada@example.org
grace,102,"Hopper, Grace",grace@example.org
mallory,103,"Cheat, Mallory",mallory@example.org
ella,104,"Loop, Ella",ella@example.org
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with lab.chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A fresh clone; every process that a test starts imports the course from it."""
    with pytest.MonkeyPatch.context() as patch:
        folder = clone(tmp_path_factory.mktemp("home") / "from-prompt-to-token")
        patch.setenv("PYTHONPATH", str(folder))
        assert not (folder / "build").exists()
        yield folder


def said(guide: str, pattern: str) -> Any:
    """Return the group, or groups, of a pattern that a guide has in it once."""
    (found,) = re.findall(pattern, (ROOT / "docs" / f"{guide}.md").read_text(), re.MULTILINE)
    return found


def test_first_hour(browser, course):
    (wrong,), right = fences("first_hour", "python"), SECOND_TRY
    run_block("autograder work", course)  # as `make lab` does
    with lab.lab(course) as address:
        desk = lab.Desk(browser.new_page(viewport={"width": 1180, "height": 760}))
        page = desk.page
        desk.open(f"{address}/")
        assert "ok       model tiny" in desk.output(desk.run("autograder.doctor import"))

        page.get_by_role("link", name=SOFTMAX.title, exact=True).first.click()
        page.wait_for_selector(f".jp-NotebookPanel:visible h1:has-text('{SOFTMAX.title}')")
        page.locator(".lm-TabBar-tab.lm-mod-current .lm-TabBar-tabCloseIcon").first.click()
        page.wait_for_selector(".jp-NotebookPanel:visible h1:has-text('From Prompt to Token')")
        for name in (SLUG, f"{SLUG}.ipynb"):
            page.locator(".jp-DirListing-item", has_text=re.compile(f"^{re.escape(name)}")).dblclick()
        page.wait_for_selector(f".jp-NotebookPanel:visible h1:has-text('{SOFTMAX.title}')")

        desk.run("from autograder.student import")
        assert said("first_hour", r"was run and says: (softmax: .*?)\]") in desk.output(desk.run('check("softmax")'))

        desk.run('raise NotImplementedError("softmax")', typed=wrong)
        table = desk.output(desk.run('check("softmax")'))
        passing, checks = said("first_hour", r"^(\d+) of (\d+) checks pass, because")
        assert f"softmax: {passing} of {checks} checks pass" in table
        assert table.count("\nexpected\n") == int(said("first_hour", r"^Each of the (\d+) other lines")) == int(checks) - int(passing)

        page.keyboard.press("Escape")
        page.keyboard.press("ArrowUp")  # Shift+Enter has gone on to the next cell
        page.keyboard.press("b")
        page.keyboard.press("Enter")
        page.keyboard.insert_text('hint("softmax")')
        page.keyboard.press("Shift+Enter")
        desk.idle()
        hint = desk.output(".jp-CodeCell:has(.cm-content:has-text('hint(\"softmax\")'))")
        assert hint.startswith("Hint 1: a nudge")
        assert hint.endswith("Run this again for hint 2 of 3.")

        desk.run("weights / weights.sum()", typed=right)
        table = desk.output(desk.run('check("softmax")'))
        assert said("first_hour", r"its table: (\d+ of \d+ checks pass, \d+ of \d+ points)") in table
        assert said("first_hour", r"(\d+ more checks with fresh inputs)") in table

        desk.open(f"{address}/lab/tree/work/start_here.ipynb?reset")
        points, following = said("first_hour", r"of Day 1 one exercise of three is done, (\d+ of \d+) points, next (\w+)")
        assert f"1\t{SOFTMAX.title}\t1 of 3\t{points}\t{following}\n" in desk.output(desk.run("progress()"))
        page.close()


def test_first_class(browser, course, tmp_path):
    folder = course / "class2026"
    printed = []
    for block in fences("first_class", "bash"):
        if block == SERVER:
            with instructors_lab(folder, tmp_path) as formgrader:
                correct_ella(browser, formgrader.address)
            continue
        if folder.exists() and not (folder / "submissions.zip").exists():
            (folder / "roster.csv").write_text(ROSTER)
            download(folder / "submissions.zip")
        printed.append(run_block(block, folder if folder.exists() else course))
    assert fences("first_class", "text")[0] in printed[1]
    assert (course / "build" / "source" / SLUG / f"{SLUG}.ipynb").exists()  # made by `autograder class`, and by nobody before it

    points = said("first_class", r"^Mallory has ([\d.]+) points here")
    rows = re.findall(r"<tr.*?</tr>", (folder / "report" / "index.html").read_text(), re.DOTALL)
    assert any("mallory" in row and f">{points}<" in row for row in rows)
    assert "0 students with a changed score" in printed[2]
    corrected = said("first_class", CORRECTION)
    with (folder / "exports" / "scores.csv").open(newline="") as file:
        (entropy,) = (row["points"] for row in csv.DictReader(file) if (row["student"], row["exercise"]) == ("ella", "entropy"))
    assert float(entropy) == float(corrected)
    assert f"entropy</a>: {corrected} of" in (folder / "feedback" / "ella" / SLUG / f"{SLUG}.html").read_text()
    assert "(4711)" in (folder / "exports" / "canvas.csv").read_text().splitlines()[0]


def correct_ella(browser: Any, address: str) -> None:
    """Do what the guide says of formgrader: from Lab's menu to the box above the check."""
    page = browser.new_page(viewport={"width": 1180, "height": 760})
    page.goto(f"{address}/lab")
    for name in ("Nbgrader", "Formgrader"):
        page.get_by_role("menuitem", name=name, exact=True).click()
    formgrader = page.frame_locator("iframe")
    day = formgrader.get_by_role("link", name=SLUG, exact=True)
    day.wait_for()  # the first list, Manage Assignments
    assert formgrader.get_by_role("link", name=re.compile(r"^day\d\d_")).count() == sum(day.ready for day in syllabus())
    day.click()
    assert formgrader.get_by_role("heading", name="Manage Assignments").is_visible()  # nbgrader shows a folder only if it is in Lab's root
    formgrader.get_by_role("link", name="Manual Grading").click()
    day.click()
    day.click()  # the day's one notebook
    formgrader.get_by_role("link", name="Submission #4", exact=True).wait_for()
    formgrader.get_by_role("button", name="Show All Names").click()
    formgrader.get_by_role("link", name="Loop, Ella").click()
    box = formgrader.get_by_label("points for entropy", exact=True)
    box.fill(said("first_class", CORRECTION))
    with page.expect_response(lambda answer: "/api/grade/" in answer.url and answer.request.method == "PUT"):
        box.press("Tab")
    page.close()
