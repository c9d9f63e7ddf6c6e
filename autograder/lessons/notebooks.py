"""Notebooks from lessons: the same lesson gives the same bytes.

Every cell carries a stable id and says in `metadata.course` what it is, so that a submission can be taken apart again:
`{"role": "text" | "setup" | "demo" | "exercise" | "check", "exercise": ...}`. The setup cell and the checks are locked.
Demo cells are not locked, because readers should change numbers and run them again; the grader knows them by id and source.
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autograder import __version__
from autograder.lessons import marks
from autograder.lessons.first_cell import with_guard
from autograder.lessons.markdown import HEADER, Exercise, Lesson, fail_at, lesson, page
from autograder.lessons.start_page import fill
from autograder.lessons.syllabus import ROOT, Day, syllabus

if TYPE_CHECKING:
    from nbformat import NotebookNode

START = "start_here"
CAPSTONE = "capstone"
ENGINE = "CapstoneEngine"
ENGINE_CELL = "{{ CapstoneEngine }}"

# Written out in full: JupyterLab marks a notebook as modified when it has to complete this.
LANGUAGE = {
    "codemirror_mode": {"name": "ipython", "version": 3},
    "file_extension": ".py",
    "mimetype": "text/x-python",
    "name": "python",
    "nbconvert_exporter": "python",
    "pygments_lexer": "ipython3",
    "version": "3.11.7",
}
KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}

_FIGURE = re.compile(r"!\[[^\]]*\]\((figures/[^)\s]+)")


def source_path(day: Day) -> Path:
    return day.root / "build" / "source" / day.slug / f"{day.slug}.ipynb"


def build_source(day: Day) -> Path:
    """Write the instructor's notebook (with answers and marks) and its figures under build/source/. Return the notebook's path."""
    path = source_path(day)
    write_if_changed(path, as_bytes(source_notebook(day)))
    copy_figures(day, path.parent)
    return path


def copy_figures(day: Day, target: Path) -> None:
    """Bring the day's figures up to date in target/figures/, without the scripts that draw them."""
    figures = day.folder / "figures"
    for figure in sorted(figures.rglob("*")):
        if figure.is_file() and figure.suffix not in (".py", ".pyc"):
            write_if_changed(target / "figures" / figure.relative_to(figures), figure.read_bytes())


def source_notebook(day: Day) -> NotebookNode:
    """Return the instructor's notebook, called the source version in nbgrader.

    Raises CourseError if the lesson is wrong, if an exercise uses a name that the notebook does not define, or if a figure is missing.
    """
    parsed = lesson(day)
    answers = _answers(parsed)
    _check_names(parsed, answers)
    _check_figures(parsed)
    cells = []
    for cell in parsed.cells:
        if cell.exercise:
            cells += _exercise_cells(cell.exercise, answers[cell.exercise.name])
        else:
            source = with_guard(cell.source) if cell.role == "setup" else _fill(cell.source, HEADER, header(day))
            cells.append(_plain_cell(cell.role, source))
    return _notebook(cells, {"slug": day.slug, "topic": day.topic, "version": __version__})


def solved_notebook(day: Day) -> NotebookNode:
    """Return the notebook with all reference answers, as if a student had written them: without marks and outputs."""
    notebook = source_notebook(day)
    for cell in notebook.cells:
        if cell.metadata["course"]["role"] == "exercise":
            cell.source = marks.without_marks(cell.source)
    return notebook


def build_start(root: Path = ROOT) -> Path:
    """Write course/start_here.ipynb from course/start_here.md, if it changed. Return its path."""
    path = root / "course" / f"{START}.ipynb"
    write_if_changed(path, start_bytes(root))
    return path


def start_bytes(root: Path = ROOT) -> bytes:
    """Return the first notebook of the course. It has no exercises; tables from the syllabus replace `{{ days }}` and the like."""
    cells = [_plain_cell(cell.role, fill(cell.source, root=root)) for cell in page(root / "course" / f"{START}.md", root)]
    first = next(cell for cell in cells if cell.cell_type == "code")
    first.source = with_guard(first.source)
    return as_bytes(_notebook(cells, {"slug": START, "topic": START, "version": __version__}))


def capstone_path(root: Path = ROOT) -> Path:
    return root / "course" / CAPSTONE / f"{CAPSTONE}.ipynb"


def build_capstone(root: Path = ROOT) -> Path | None:
    """Write course/capstone/capstone.ipynb from capstone.md, if it changed. Return its path, or None if the course has no capstone."""
    path = capstone_path(root)
    if not path.with_suffix(".md").exists():
        return None
    write_if_changed(path, capstone_bytes(root))
    return path


def capstone_bytes(root: Path = ROOT) -> bytes:
    """Return the notebook of the race, without nbgrader checks and points. It begins with the whole engine from the solutions."""
    module = (root / "solutions" / f"{CAPSTONE}.py").read_text(encoding="utf-8")
    engine = marks.source_of(module, marks.definitions(module)[ENGINE])
    cells = [_plain_cell(cell.role, cell.source) for cell in page(capstone_path(root).with_suffix(".md"), root)]
    for cell in cells:
        if cell.source == ENGINE_CELL:
            cell.source, cell.id = engine, _id("exercise", ENGINE)
            cell.metadata["course"] = {"role": "exercise", "exercise": ENGINE}
    return as_bytes(_notebook(cells, {"slug": CAPSTONE, "topic": CAPSTONE, "version": __version__}))


def header(day: Day) -> str:
    """Return the line under a lesson's title: `Day 5 · 120 minutes · medium · builds on Day 1 (Softmax)`."""
    by_topic = {other.topic: other for other in syllabus(None if day.own else day.root)}
    needed = sorted((by_topic[topic] for topic in day.prerequisites), key=lambda other: other.number)
    parts = [f"Day {day.number}", f"{day.minutes} minutes", day.difficulty]
    if needed:
        parts.append("builds on " + ", ".join(f"Day {other.number} ({other.title})" for other in needed))
    return " · ".join(parts)


def as_bytes(notebook: NotebookNode) -> bytes:
    """Return the notebook file's bytes: sorted keys, one trailing line end."""
    import nbformat

    return (nbformat.writes(notebook, version=4).rstrip("\n") + "\n").encode()


def write_if_changed(path: Path, content: bytes) -> bool:
    """Write the file whole or not at all, unless it has this content already. Return True if it was written."""
    if path.exists() and path.read_bytes() == content:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    part.write_bytes(content)
    part.replace(path)
    return True


def _notebook(cells: list[NotebookNode], course: dict[str, str]) -> NotebookNode:
    from nbformat import v4

    seen: dict[str, int] = {}
    for cell in cells:  # two text cells with the same words would share an id
        seen[cell.id] = seen.get(cell.id, 0) + 1
        if seen[cell.id] > 1:
            cell.id = f"{cell.id}-{seen[cell.id]}"
    return v4.new_notebook(cells=cells, metadata={"course": course, "kernelspec": KERNEL, "language_info": LANGUAGE})


def _plain_cell(role: str, source: str) -> NotebookNode:
    from nbformat import v4

    metadata: dict[str, Any] = {"course": {"role": role}}
    if role == "text":
        return v4.new_markdown_cell(source, id=_hashed_id(role, source), metadata=metadata)
    if role == "demo":
        return v4.new_code_cell(source, id=_hashed_id(role, source), metadata=metadata)
    metadata["nbgrader"] = _nbgrader("setup", locked=True)
    return v4.new_code_cell(source, id=_id("setup"), metadata=metadata)


def _exercise_cells(exercise: Exercise, source: str) -> list[NotebookNode]:
    from nbformat import v4

    name = exercise.name
    check_id = f"check_{name}"
    return [
        v4.new_code_cell(
            source,
            id=_id("exercise", name),
            metadata={
                "course": {"role": "exercise", "exercise": name},
                "nbgrader": _nbgrader(name, solution=True),
            },
        ),
        v4.new_code_cell(
            f'check("{name}")',
            id=_id("check", name),
            metadata={
                "course": {"role": "check", "exercise": name},
                "nbgrader": _nbgrader(check_id, grade=True, locked=True) | {"points": exercise.points},
            },
        ),
    ]


def _nbgrader(grade_id: str, *, grade: bool = False, locked: bool = False, solution: bool = False) -> dict[str, Any]:
    kind = {"grade": grade, "locked": locked, "solution": solution, "task": False}
    return {"schema_version": 3, "grade_id": grade_id, **kind}


def _id(role: str, exercise: str | None = None) -> str:
    """Return a cell id. Cell ids have at most 64 characters."""
    return f"{role}-{exercise}"[:64] if exercise else role


def _hashed_id(role: str, source: str) -> str:
    """Return a cell id that does not change when other cells are inserted before the cell."""
    return f"{role}-{hashlib.sha256(source.encode()).hexdigest()[:10]}"


def _fill(source: str, placeholder: str, content: str) -> str:
    return "\n".join(content if line.strip() == placeholder else line for line in source.split("\n"))


def _answers(parsed: Lesson) -> dict[str, str]:
    module = parsed.day.solutions_path.read_text(encoding="utf-8")
    defined = marks.definitions(module)
    return {exercise.name: marks.source_of(module, defined[exercise.name]) for exercise in parsed.exercises}


def _check_names(parsed: Lesson, answers: dict[str, str]) -> None:
    """Check that an exercise uses only names of the setup cell and other exercises, since the grader runs no other cells."""
    import builtins

    known = set(dir(builtins)) | {"__name__"} | marks.bound_names(parsed.setup) | set(answers)
    for exercise in parsed.exercises:
        unknown = sorted(marks.free_names(answers[exercise.name]) - known)
        if unknown:
            message = f"{exercise.name} uses {unknown[0]!r}, which neither the setup cell nor an exercise defines"
            fail_at(parsed.day.lesson_path, parsed.day.root, exercise.line, message)


def _check_figures(parsed: Lesson) -> None:
    for cell in parsed.cells:
        if cell.role != "text":
            continue
        for offset, line in enumerate(cell.source.split("\n")):
            for figure in _FIGURE.findall(line):
                if not (parsed.day.folder / figure).exists():
                    fail_at(parsed.day.lesson_path, parsed.day.root, cell.line + offset, f"no such figure: {figure}")
