"""Walks through a student's first hour, one mistake, an instructor's first class and a talk with the server in a real browser, and takes
the pictures of docs/first_*.md, class_server.md, serving.md and the README.

    python -m tests.support.walkthrough [hour] [check] [class] [server] [serve]

Everything happens in a throw-away folder; only docs/images/first_*.png, class_*.png, check.png, chat_page.png and serving.webp are written.
The clock is printed where one waits.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from PIL import Image

from autograder.lessons import find_day, prepare_work

from ..classroom import test_instructor
from ..serving import test_chat_page
from . import class_server, guides, lab, served
from .lab import scroll_until

ROOT = Path(__file__).parents[2]
IMAGES = ROOT / "docs" / "images"
HIDE = """root => {
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) texts.currentNode.data = texts.currentNode.data.replaceAll(root, '~/from-prompt-to-token');
}"""
SIZE = {"width": 1180, "height": 760}
(FIRST_TRY,), SECOND_TRY = guides.fences("first_hour", "python"), guides.SECOND_TRY
ONE_MAXIMUM = """def softmax(logits: Tensor) -> Tensor:
    weights = (logits - logits.max()).exp()
    return weights / weights.sum(dim=-1, keepdim=True)
"""
QUESTIONS = ("Name three rivers in Europe.", "Why is the sky blue?")
OTHERS = 5
"""Clients that ask meanwhile, so that the second answer shares its steps with theirs."""


class Desk(lab.Desk):
    """A desk with a camera."""

    def picture(self, name: str, show: str | None = None) -> None:
        if show is not None:
            scroll_until(self.page, show)
            self.page.locator(show).first.evaluate("e => e.scrollIntoView({block: 'center'})")
            self.page.wait_for_timeout(600)
        shot(self.page, name)


def shot(page: Any, name: str) -> None:
    """Without the name of the folder that the course lies in here."""
    page.evaluate(HIDE, str(ROOT))
    page.screenshot(path=IMAGES / f"{name}.png")
    print(f"docs/images/{name}.png")


def first_hour(browser: Any) -> None:
    folder = Path(tempfile.mkdtemp(prefix="first-hour-"))
    prepare_work(folder / "work")
    started = time.monotonic()
    with lab.lab(folder) as address:
        serving = time.monotonic()
        desk = Desk(browser.new_page(viewport=SIZE))
        desk.open(f"{address}/")
        desk.page.wait_for_selector(".jp-NotebookPanel:visible h1")
        shown = time.monotonic()
        desk.run("autograder.doctor import")
        ran = time.monotonic()
        for what, begin, end in (("server", started, serving), ("page", serving, shown), ("first cell", shown, ran), ("all", started, ran)):
            print(f"{what}: {end - begin:.1f} s")
        desk.picture("first_hour_start", ".jp-CodeCell:has-text('autograder.doctor import')")

        desk.open(f"{address}/lab/tree/work/day01_softmax/day01_softmax.ipynb?reset")
        begun = time.monotonic()
        desk.run("from autograder.student import")
        print(f"first cell of Day 1: {time.monotonic() - begun:.1f} s")
        desk.run('check("softmax")')
        desk.picture("first_hour_stub", ".jp-CodeCell:has(.cm-content:has-text('check(\"softmax\")'))")
        desk.run("raise NotImplementedError(\"softmax\")", typed=FIRST_TRY)
        desk.run('check("softmax")')
        desk.picture("first_hour_wrong", ".check-table")
        desk.page.keyboard.press("Escape")
        desk.page.keyboard.press("ArrowUp")  # Shift+Enter has gone on to the next cell
        desk.page.keyboard.press("b")
        desk.page.keyboard.press("Enter")
        desk.page.keyboard.insert_text('hint("softmax")')
        desk.page.keyboard.press("Shift+Enter")
        desk.idle()
        desk.picture("first_hour_hint", ".jp-CodeCell:has(.cm-content:has-text('hint(\"softmax\")'))")
        desk.run("weights / weights.sum()", typed=SECOND_TRY)
        desk.run('check("softmax")')
        desk.picture("first_hour_right", ".check-table")
        desk.open(f"{address}/lab/tree/work/start_here.ipynb?reset")
        cell = desk.run("progress()")
        desk.picture("first_hour_progress", f"{cell} .jp-OutputArea-output")
    shutil.rmtree(folder, ignore_errors=True)


def one_check(browser: Any) -> None:
    """The picture of the README: three lines, the checks that fail, and why. Its letters are as large as the page's own."""
    folder = Path(tempfile.mkdtemp(prefix="one-check-"))
    day = find_day("softmax")
    lab.put_notebook(folder, day, solved=False, changed={"softmax": ONE_MAXIMUM})
    with lab.lab(folder) as address:
        desk = Desk(browser.new_page(viewport={"width": 860, "height": 1500}, device_scale_factor=2))
        desk.open(f"{address}/lab/tree/work/{day.slug}/{day.slug}.ipynb?reset")
        desk.page.keyboard.press("Control+b")  # without the list of files
        desk.run("from autograder.student import")
        code, table = desk.run("def softmax(logits"), desk.run('check("softmax")')
        scroll_until(desk.page, code)
        desk.page.locator(code).first.evaluate("e => e.scrollIntoView({block: 'start'})")
        desk.page.keyboard.press("Escape")
        desk.page.wait_for_timeout(1000)
        top, end = (desk.page.locator(each).first.bounding_box() for each in (code, f"{table} .check-table"))
        clip = {**top, "height": end["y"] + end["height"] + 8 - top["y"]}
        desk.page.screenshot(path=IMAGES / "check.png", clip=clip)
        print("docs/images/check.png")
    shutil.rmtree(folder, ignore_errors=True)


class Film:
    """Pictures of a page and how long each was to be seen: what changes nothing makes the one before it longer."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.pictures: list[bytes] = []
        self.seconds: list[float] = []
        self.since = time.monotonic()

    def take(self) -> None:
        picture = self.page.screenshot()
        now = time.monotonic()
        if self.pictures:
            self.seconds[-1] += now - self.since
        if not self.pictures or picture != self.pictures[-1]:
            self.pictures.append(picture)
            self.seconds.append(0.0)
        self.since = now

    def watch(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.take()

    def save(self, path: Path) -> None:
        images = [Image.open(io.BytesIO(picture)).convert("RGB") for picture in self.pictures]
        each = [max(20, round(1000 * seconds)) for seconds in self.seconds]
        images[0].save(path, save_all=True, append_images=images[1:], duration=each, loop=0, quality=40, method=4)
        print(f"{path.relative_to(ROOT)}: {len(images)} pictures, {sum(self.seconds):.0f} s, {path.stat().st_size / 1e6:.2f} MB")


def served_page(browser: Any) -> None:
    """`make serve` with SmolLM2 in some twenty seconds, at the speed that it had: a question, what the model thought of two tokens,
    and a second question while others ask, too."""
    with served.command("--model", "smollm2", env={"OMP_NUM_THREADS": str(os.cpu_count())}) as server:
        page = browser.new_page(viewport={"width": 800, "height": 560}, device_scale_factor=1.5)
        page.goto(server.base)
        test_chat_page.settings(page, temperature=0.7, top_p=0.95, seed=5, max_tokens=90)
        film = Film(page)
        say(film, QUESTIONS[0])
        tokens = page.locator(".answer").last.locator(".t:not(.end)")
        tints = [float(tint) for tint in tokens.evaluate_all("all => all.map(e => e.style.getPropertyValue('--s') || 0)")]
        for index in sorted(range(len(tints)), key=lambda index: -tints[index])[:2]:
            tokens.nth(index).hover()
            page.locator("#card").wait_for()
            film.watch(2.5)
        page.screenshot(path=IMAGES / "chat_page.png")
        page.mouse.move(5, 5)
        film.take()
        enough = threading.Event()
        with ThreadPoolExecutor(OTHERS) as crowd:
            busy = [crowd.submit(keep_asking, server.base, enough) for _ in range(OTHERS)]
            page.wait_for_timeout(1200)  # the header is renewed once a second
            say(film, QUESTIONS[1])
            film.watch(3)
            enough.set()
            for each in busy:
                each.result()
        film.save(IMAGES / "serving.webp")
        page.close()


def keep_asking(base: str, enough: threading.Event) -> None:
    while not enough.is_set():
        asked: Any = [{"role": "user", "content": "Tell me a long story."}]
        served.client(base).chat.completions.create(model="smollm2", messages=asked, max_tokens=200)


def say(film: Film, words: str) -> None:
    """Types a question and watches until its answer has ended."""
    page = film.page
    page.locator("#message").click()
    film.watch(0.5)
    for start in range(0, len(words), 3):
        page.keyboard.insert_text(words[start : start + 3])
        film.watch(0.1)
    before = page.locator(".answer").count()
    page.keyboard.press("Enter")
    page.wait_for_function("before => document.querySelectorAll('.answer').length > before", arg=before)
    while page.locator("#send", has_text="Stop").count():
        film.take()
    film.watch(1.5)


def first_class(browser: Any) -> None:
    start = Path(tempfile.mkdtemp(prefix="first-class-"))
    folder, scratch = start / "class2026", start / "scratch"
    scratch.mkdir()
    for block in guides.fences("instructor", "bash"):
        where = folder if folder.exists() else start
        if block == test_instructor.SERVER:
            with test_instructor.lab(folder, scratch) as formgrader:
                look_and_correct(browser, formgrader)
            continue
        print(f"$ {guides.run_block(block, where, columns=120)}")
        if folder.exists() and not (folder / "submissions.zip").exists():
            test_instructor.download(folder / "submissions.zip")
    read(browser, folder)
    shutil.rmtree(start, ignore_errors=True)


def read(browser: Any, folder: Path) -> None:
    """What an instructor reads of a graded class, and a student."""
    page = browser.new_page(viewport=SIZE)
    page.goto((folder / "report" / "index.html").as_uri())
    shot(page, "first_class_report")
    page.locator("caption:has-text('Exercises (')").evaluate("e => e.scrollIntoView()")
    shot(page, "first_class_checks")
    page.goto((folder / "feedback" / "ella" / test_instructor.SLUG / f"{test_instructor.SLUG}.html").as_uri() + "#check_entropy")
    shot(page, "first_class_feedback")
    page.close()


def look_and_correct(browser: Any, formgrader: test_instructor.Formgrader) -> None:
    slug = test_instructor.SLUG
    page = browser.new_page(viewport=SIZE)
    page.goto(f"{formgrader.address}/formgrader/gradebook/{slug}/{slug}")
    page.wait_for_function("document.querySelector('tbody') && !document.body.innerText.includes('Loading, please wait')")
    page.get_by_role("button", name="Show All Names").click()
    page.wait_for_timeout(500)
    shot(page, "first_class_formgrader")
    submissions = json.loads(formgrader.get(f"/formgrader/api/submitted_notebooks/{slug}/{slug}"))
    ella = next(s["id"] for s in submissions if s["student"] == "ella")
    page.goto(f"{formgrader.address}/formgrader/submissions/{ella}/?index=0")
    box = page.get_by_label("points for entropy", exact=True)
    box.wait_for()
    page.wait_for_timeout(1500)
    box.fill(str(test_instructor.CORRECTED))
    box.press("Tab")
    page.wait_for_timeout(1500)
    box.evaluate("e => e.scrollIntoView({block: 'start'})")
    page.evaluate("scrollBy(0, -110)")
    page.wait_for_timeout(400)
    shot(page, "first_class_correct")
    page.close()


def class_on_a_server(browser: Any) -> None:
    """What students and their instructor see on a class server."""
    folder = Path(tempfile.mkdtemp(prefix="class-server-"))
    day = find_day("softmax")
    of_class = class_server.make(folder, {"ada": "Lovelace, Ada", "grace": "Hopper, Grace", "ella": "Loop, Ella"})
    with class_server.serving(of_class) as address:
        prof = class_server.Instructor(browser, address, of_class)
        for button in ("assign", "release"):
            prof.press(day.slug, button)
        for name in ("ada", "grace", "ella"):
            student = class_server.Student(browser, address, of_class, name)
            student.open_assignments()
            student.sees(day.slug, of="released")
            if name == "ada":
                student.page.wait_for_timeout(1000)
                shot(student.page, "class_assignments")
            student.press(day.slug, "Fetch", of="released")
            student.sees(day.slug, of="fetched")
            student.press(day.slug, "Submit", of="fetched")
            student.sees(day.slug, of="submitted")
        prof.press(day.slug, "collect")
        prof.row(day.slug)
        shot(prof.page, "class_formgrader")
    shutil.rmtree(folder, ignore_errors=True)


def main() -> None:
    wanted = sys.argv[1:] or ["hour", "check", "class", "server", "serve"]
    with lab.chromium() as browser:
        if "hour" in wanted:
            first_hour(browser)
        if "check" in wanted:
            one_check(browser)
        if "class" in wanted:
            first_class(browser)
        if "server" in wanted:
            class_on_a_server(browser)
        if "serve" in wanted:
            served_page(browser)


if __name__ == "__main__":
    main()
