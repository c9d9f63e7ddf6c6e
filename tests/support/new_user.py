"""Does days as somebody does who has just come: an empty work/, a real browser, one cell after another, each exercise left open at first,
then wrong, then right. Says how long each day kept its user waiting, and what went otherwise than it should.

    python -m tests.support.new_user                 # all days; writes benchmarks/results/days.md and its data
    python -m tests.support.new_user day05 day06     # these; writes nothing

The wrong version is the first of the exercise's own ones that loses a point, the right one the course's answer. Pictures of each day, at a
wrong version and at the end, go to build/new_user/. How long a person reads and thinks is not in it: that is what the minutes of a lesson
are for.
"""

from __future__ import annotations

import argparse
import html
import re
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import nbformat
import psutil

from autograder.base.specimen_files import SPECIMENS, find_specimens
from autograder.lessons import Day, find_day, prepare_work, release_notebook_path, syllabus
from autograder.site.execute import high_water
from benchmarks.common import ROOT, machine, save

from . import lab

PICTURES = ROOT / "build" / "new_user"
RUN = """async ([index, typed]) => {
    const {content} = jupyterapp.shell.currentWidget;
    content.activeCellIndex = index;
    await content.scrollToItem(index, "center");
    if (typed !== null) content.activeCell.model.sharedModel.setSource(typed);
    await jupyterapp.commands.execute("notebook:run-cell");
    const {outputs} = content.activeCell.model;
    return outputs ? outputs.toJSON() : [];
}"""
COUNTED = """\
Chromium, JupyterLab as `make lab` starts it, an empty work/ for all days together. Each cell is run once from top to bottom, each exercise
three times: as released, with a wrong version and with the reference solution, and its check after each. Hidden is how many wrong
versions were tried before that, which only the hidden checks know: they are not in the notebook. Waited is the time of all
cells until they were done, longest that of the slowest single one; both are the machine's and the browser's, not a reader's. Opened is
from the click to a kernel that answers. Memory is the largest that the kernel had."""


@dataclass
class Done:
    """A day: seconds, megabytes, wrong versions that only hidden checks know, and what was not as it should be."""

    day: str
    cells: int = 0
    exercises: int = 0
    opened: float = 0.0
    waited: float = 0.0
    longest: float = 0.0
    memory: float = 0.0
    hidden: int = 0
    odd: list[str] = field(default_factory=list)


class User:
    """In front of one page of Lab."""

    def __init__(self, page: Any, done: Done) -> None:
        self.page, self.done = page, done

    def run(self, index: int, name: str, typed: str | None = None) -> str:
        """Runs a cell, after typing something else into it. -> what stands below it, as words"""
        begun = time.monotonic()
        outputs = self.page.evaluate(RUN, [index, typed])
        took = time.monotonic() - begun
        self.done.waited += took
        self.done.longest = max(self.done.longest, took)
        for output in outputs:
            if output["output_type"] == "error" and output["ename"] != "NotImplementedError":
                self.done.odd.append(f"{name}: {output['ename']}: {output['evalue'][:100]}")
        return words(outputs)

    def exercise(self, index: int, check: int, name: str, wrong: list[str], right: str, points: str) -> None:
        """As it stands, wrong, and right. Some wrong versions only the hidden checks know: then the next one is tried."""
        self.run(index, name)
        self.expect(name, "as it stands", "not written yet", self.run(check, name))
        for version in wrong:
            self.run(index, name, version)
            if not re.search(points, self.run(check, name)):
                break
            self.done.hidden += 1
        else:
            self.done.odd.append(f"{name}: of {len(wrong)} wrong versions none loses a point that one can see")
        if not (PICTURES / f"{self.done.day}_wrong.png").exists():
            self.picture("wrong")
        self.run(index, name, right)
        self.expect(name, "the answer", points, self.run(check, name))

    def expect(self, name: str, which: str, due: str, text: str) -> None:
        if not re.search(due, text):
            self.done.odd.append(f"{name}, {which}: {text[:160]!r}")

    def picture(self, name: str) -> None:
        self.page.wait_for_timeout(700)
        self.page.screenshot(path=PICTURES / f"{self.done.day}_{name}.png")


def words(outputs: list[dict[str, Any]]) -> str:
    """Of outputs as a notebook keeps them: text, and HTML without its tags."""
    found = []
    for output in outputs:
        data = output.get("data", {"text/plain": output.get("text", "")})
        text = data.get("text/html") or data.get("text/plain") or ""
        plain = "".join(text) if isinstance(text, list) else text
        found.append(html.unescape(re.sub(r"<style.*?</style>|<[^>]+>", " ", plain, flags=re.DOTALL)))
    return re.sub(r"\s+", " ", " ".join(found)).strip()


def wrong_versions(day: Day, most: int = 20) -> dict[str, list[str]]:
    """Of each exercise, the first ones."""
    found: dict[str, list[str]] = {}
    for each in find_specimens(SPECIMENS, [day.topic]):
        if not each.right and len(of := found.setdefault(each.path.stem, [])) < most:
            of.append(each.text)
    return found


def kernels_memory() -> float:
    """Megabytes of the largest kernel below this process, at its largest."""
    below = psutil.Process().children(recursive=True)
    return max(high_water(each.pid) for each in below if "ipykernel" in " ".join(each.cmdline())) / 2**20


def do(day: Day, page: Any) -> Done:
    done = Done(day.slug)
    user = User(page, done)
    begun = time.monotonic()
    lab.open_day(page, day)
    done.opened = time.monotonic() - begun
    solved, wrong = lab.answers(day), wrong_versions(day)
    cells = nbformat.read(release_notebook_path(day), as_version=4).cells
    code = [(i, cell) for i, cell in enumerate(cells) if cell.cell_type == "code"]
    done.cells = len(code)
    checks = {c.metadata["course"]["exercise"]: i for i, c in code if c.metadata.get("course", {}).get("role") == "check"}
    for index, cell in code:
        about = cell.metadata.get("course", {})
        if about.get("role") == "exercise":
            name = about["exercise"]
            done.exercises += 1
            user.exercise(index, checks[name], name, wrong.get(name, []), solved[name], r"(\d+) of \1 points")
        elif about.get("role") != "check":
            user.run(index, cell.id)
    user.picture("end")
    done.memory = kernels_memory()
    return done


def row(done: Done) -> str:
    odd = "; ".join(done.odd).replace("|", "/") or "nothing"
    return (
        f"| {done.day} | {done.cells} | {done.exercises} | {done.opened:.1f} | {done.waited:.0f} | {done.longest:.1f} "
        f"| {done.memory:.0f} | {done.hidden} | {odd} |"
    )


def page_of(results: list[Done], where: str) -> str:
    head = "| day | cells | exercises | opened, s | waited, s | longest, s | memory, MB | hidden | what was odd |"
    rows = "\n".join([head, "|---" * 9 + "|", *map(row, results)])
    return f"# The days, done by a new user\n\n{rows}\n\nMeasured on {where}.\n\n{COUNTED}\n"


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.support.new_user", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("days", nargs="*", help="day05, or a topic's name; all if none")
    asked = parser.parse_args().days
    days = [find_day(name) for name in asked] or [day for day in syllabus() if day.ready]
    if lab.CHROMIUM is None:
        print("no chromium on this machine (Debian: apt-get install chromium)")
        return 1
    PICTURES.mkdir(parents=True, exist_ok=True)
    where, results = machine(), []
    with tempfile.TemporaryDirectory(prefix="new-user-") as made, lab.chromium() as browser:
        prepare_work(Path(made) / "work")
        with lab.lab(Path(made), "--LabApp.expose_app_in_browser=True") as address:
            page = lab.open_page(browser, f"{address}/")
            page.set_default_timeout(600_000)
            for day in days:
                for picture in PICTURES.glob(f"{day.slug}_*.png"):
                    picture.unlink()
                results.append(do(day, page))
                print(row(results[-1]), flush=True)
    if not asked:
        save("days", {"machine": where, "rows": [asdict(each) for each in results]}, page_of(results, where))
    return 1 if any(each.odd for each in results) else 0


if __name__ == "__main__":
    sys.exit(main())
