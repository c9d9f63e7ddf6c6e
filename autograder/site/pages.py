"""The pages of the site as files of Sphinx's source: their list, their contents, their links."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from autograder.base.errors import CourseError
from autograder.lessons import ROOT, Day, marks, syllabus
from autograder.lessons.markdown import page as cells_of
from autograder.lessons.notebooks import KERNEL, LANGUAGE, START, as_bytes
from autograder.lessons.start_page import fill
from course.kit import paths

from . import address, certification, checks_page, functions_page, measured_page, mutants, playground
from .lesson_pages import reading_notebook
from .links import relative, relink

if TYPE_CHECKING:
    from nbformat import NotebookNode

BY_HAND = ROOT / "docs" / "site"

FIRST = ("first_hour",)
TO_LOOK_UP = ("cheat_sheet", "functions", "numbers", "serving")
TO_TEACH = ("first_class", "instructor", "own_days", "class_server", "grading", "clusters", "ci_template")
TO_TRUST = ("certification", "mutants", "attacks")
TO_CHANGE = ("architecture", "modules", "contributing")

FENCE = re.compile(r"(?<=^```python\n).*?(?=^```$)", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Site:
    """The site to build. source: Sphinx's source tree, which is rewritten."""

    source: Path
    days: Sequence[Day]
    answers: bool

    @property
    def as_is(self) -> Path:
        """Return the folder of files that Sphinx copies unchanged into the site, at the same path: pictures in HTML."""
        return self.source.with_name("as_is")

    @property
    def pages(self) -> dict[Path, str]:
        """Return {file of the repository: the page made from it}."""
        found = {ROOT / "course" / f"{START}.md": f"{START}.ipynb", ROOT / "course" / f"{START}.ipynb": f"{START}.ipynb"}
        found |= {path: path.name for path in sorted((ROOT / "docs").glob("*.md"))}
        found |= {path: f"results/{path.name}" for path in sorted((ROOT / "benchmarks" / "results").glob("*.md"))}
        for day in self.days:
            found[day.lesson_path] = found[day.folder / f"{day.slug}.ipynb"] = lesson_page(day)
        return found


def lesson_page(day: Day) -> str:
    return f"days/{day.slug}.ipynb"


def write(site: Site, ran: dict[str, NotebookNode]) -> None:
    """Write all pages. ran: {slug: the day's executed notebook}."""
    shutil.rmtree(site.source, ignore_errors=True)
    for day in site.days:
        _write_day(site, day, ran[day.slug])
        _put(site, f"checks/{day.topic}.md", checks_page.page(day))
    _write_start(site)
    for path, page in site.pages.items():
        if path.suffix == ".md" and page.endswith(".md"):
            _put(site, page, _moved(site, path, _text(site, path), page))
    _put(site, "checks/index.md", _list("The visible checks", [f"Day {day.number} · {day.title} <{day.topic}>" for day in site.days]))
    measured = sorted(Path(page).stem for page in site.pages.values() if page.startswith("results/"))
    _put(site, "results/index.md", measured_page.page(measured))
    _put(site, "functions.md", functions_page.page(site.days))
    _put(site, "404.md", NOT_FOUND)
    _write_first_page(site)


NOT_FOUND = """---
orphan: true
nosearch: true
---
# There is no such page

[The first page](index.md) leads to every day; the search field finds the rest.
"""


def _text(site: Site, path: Path) -> str:
    """Return the text of a handwritten page.

    On a site without answers the page of mutants is regenerated without the solutions' lines.
    """
    if path == certification.MUTANTS_PAGE and not site.answers:
        return mutants.page(mutants.read_runs(certification.RESULTS.parent), syllabus(), answers=False)
    text = path.read_text(encoding="utf-8")
    return text.replace(NO_ADDRESS, address.repository()) if address.repository() else text


NO_ADDRESS = "https://github.com/YOUR-COURSE/from-prompt-to-token"
"""The placeholder in docs/ for the repository's address, as long as it is unknown."""


def _write_day(site: Site, day: Day, ran: NotebookNode) -> None:
    page = lesson_page(day)
    notebook = reading_notebook(day, ran, answers=site.answers, note=_note(ran, page, day if site.answers else None))
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = _moved(site, day.lesson_path, cell.source, page)
    _put(site, page, as_bytes(notebook).decode())


def _note(ran: NotebookNode, page: str, packed: Day | None) -> str:
    """Return the note under a day's title. packed: the day, if its zip is beside the page."""
    made = ran.metadata["site"]
    without = "" if paths.SMOLLM2.is_file() else " It was run without SmolLM2; cells that need the real model say so."
    threads = "one thread" if made["threads"] == 1 else f"{made['threads']} threads"
    zipped = f'; <a href="{packed.slug}.zip" download>this day as a zip</a>, if you do not have the course yet' if packed else ""
    return (
        f"*This is the day's notebook, solved and with its outputs (run on {made['machine']}, {made['date']}, with {threads}; "
        f"other work on the machine may have slowed it).{without} "
        f"To do the day yourself, open it in JupyterLab: [how to begin]({relative(f'{START}.ipynb', page)}){zipped}.*"
    )


def _write_start(site: Site) -> None:
    """Write the course's first notebook without running it, because its cells print facts about the reader's machine."""
    from nbformat import v4

    path = ROOT / "course" / f"{START}.md"
    page = f"{START}.ipynb"
    here = {day.topic for day in site.days}

    def link(day: Day) -> str | None:
        return relative(lesson_page(day), page) if day.topic in here else None

    cells = []
    for cell in cells_of(path, ROOT):
        source = cell.source.replace("# From Prompt to Token", "# How to begin\n\n" + INSTALL, 1)
        source = fill(_moved(site, path, source, page), link) if cell.role == "text" else source
        cells.append(v4.new_markdown_cell(source) if cell.role == "text" else v4.new_code_cell(source))
    _put(site, page, as_bytes(v4.new_notebook(cells=cells, metadata={"kernelspec": KERNEL, "language_info": LANGUAGE})).decode())


INSTALL = """
```bash
make lab     # from a fresh clone: environment, SmolLM2, JupyterLab on work/start_here.ipynb
```

You need Python 3.11, make and git, about 2 GB of disk, and no GPU. After set-up nothing is fetched.
The rest of this page is the notebook that opens then.
"""


def table_of_days(site: Site, page: str) -> str:
    by_topic = {day.topic: day for day in syllabus()}
    ready = {day.topic for day in site.days}
    lines = ["| Day | Title | The question | Minutes | Difficulty | Builds on |", "|---|---|---|---|---|---|"]
    for day in by_topic.values():
        if day.topic not in ready:
            continue
        title = f"[{day.title}]({relative(lesson_page(day), page)})"
        before = ", ".join(map(str, sorted(by_topic[topic].number for topic in day.prerequisites)))
        lines.append(f"| {day.number} | {title} | {day.question} | {day.minutes} | {day.difficulty} | {before or 'none'} |")
    return "\n".join(lines)


def _write_first_page(site: Site) -> None:
    figures = certification.read(certification.RESULTS)
    text = _moved(site, BY_HAND / "index.md", (BY_HAND / "index.md").read_text(encoding="utf-8"), "index.md")
    minutes = [day.minutes for day in site.days]
    filled = {
        "days": table_of_days(site, "index.md"),
        "facts": f"{len(minutes)} days of {min(minutes)} to {max(minutes)} minutes, {round(sum(minutes) / 60)} hours in all.",
        "certified": certification.headline(figures).strip("*"),
        "answers": ANSWERS_HERE if site.answers else ANSWERS_NOT_HERE,
        "ways": ways(site),
        "functions": "[Functions](functions.md) has everything that you write, by name.",
        "playground": f"```{{raw}} html\n{playground.figure()}\n```",
        "contents": contents(site),
    }
    for name, content in filled.items():
        text = text.replace(f"{{{{ {name} }}}}", content)
    _put(site, "index.md", text)


def ways(site: Site) -> str:
    """Return the line of links to continue with. It includes the repository if its address is known."""
    found = [f"[Read Day {day.number}]({lesson_page(day)})" for day in site.days[:1]]
    found += [f"[Install]({START}.ipynb)", "[Teach with it](instructor.md)"]
    found += [f"[The code]({address.repository()})"] if address.repository() else []
    return f"**{' · '.join(found)}**"


def contents(site: Site) -> str:
    """Return the site's table of contents, in parts. Pages of docs/ that no part names are listed in "To teach"."""
    here = {path.stem for path in site.pages if path.parent == ROOT / "docs"}
    others = sorted(here - {*FIRST, *TO_LOOK_UP, *TO_TEACH, *TO_TRUST, *TO_CHANGE})
    lessons = [f"Day {day.number} · {day.title} <{lesson_page(day).removesuffix('.ipynb')}>" for day in site.days]
    parts = {
        "The course": [START, *(name for name in FIRST if name in here), *lessons],
        "To look up": [*TO_LOOK_UP, "checks/index"],
        "To teach": [*(name for name in TO_TEACH if name in here), *others],
        "To trust": [*TO_TRUST, "results/index"],
        "To change": [*TO_CHANGE],
    }
    trees = [f"```{{toctree}}\n:hidden:\n:caption: {caption}\n\n" + "\n".join(names) + "\n```" for caption, names in parts.items()]
    return "\n\n".join(trees)


ANSWERS_HERE = "Under each exercise one way to write it is folded away. Try first."
ANSWERS_NOT_HERE = "This copy of the site holds no answers to the exercises."


def _moved(site: Site, path: Path, text: str, page: str) -> str:
    """Return a file's text for its page: with links from its new place, copied pictures, and answers only if requested."""

    def keep(picture: Path, place: Path = site.source) -> str:
        if not picture.is_file():
            raise CourseError(f"{path.relative_to(ROOT)}: no such picture: {picture.name}")
        copied = f"pictures/{picture.relative_to(ROOT)}"
        (place / copied).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(picture, place / copied)
        return copied

    def check(target: Path, words: str) -> str | None:
        day = next((day for day in site.days if target == ROOT / "autograder" / "checking" / "checks" / f"test_{day.topic}.py"), None)
        if day is None:
            return None
        label = checks_page.labels(day).get(words)
        return f"[{words}](#{label})" if label else f"[{words}]({relative(f'checks/{day.topic}.md', page)})"

    if not site.answers:
        text = FENCE.sub(lambda code: marks.without_answers(code[0]) if marks.BEGIN in code[0] else code[0], text)
    return relink(text, path, page, site.pages, keep, check, lambda picture: keep(picture, site.as_is))


def _list(title: str, names: list[str]) -> str:
    return "\n".join([f"# {title}", "", "```{toctree}", ":maxdepth: 1", "", *names, "```", ""])


def _put(site: Site, page: str, text: str) -> None:
    path = site.source / page
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
