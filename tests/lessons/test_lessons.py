"""The chain from lesson.md to the students' notebooks, on a small course of its own and on the real one."""

from __future__ import annotations

import ast
import itertools
import os
import re
import textwrap
from pathlib import Path

import nbformat
import pytest
from nbgrader.nbgraderformat import MetadataValidator

from autograder import lessons
from autograder.base.errors import CourseError
from autograder.lessons import Day, hours, marks

SYLLABUS = """
[[day]]
number = 1
topic = "counting"
title = "Counting"
question = "How many?"
minutes = 30
difficulty = "easy"
prerequisites = []

[[day]]
number = 2
topic = "shelf"
title = "A shelf"
question = "Where does it stand?"
minutes = 60
difficulty = "medium"
prerequisites = ["counting"]

[[day]]
number = 3
topic = "future"
title = "Later"
question = "When?"
minutes = 60
difficulty = "hard"
prerequisites = []
"""

SOLUTIONS = '''
"""A function and a class."""

from dataclasses import dataclass
from functools import cache

from solutions.counting import how_many


def _helper(x: int) -> int:
    return x


@cache
def double(x: int) -> int:
    """Twice x."""
    ### BEGIN SOLUTION
    twice_the_argument = x + x
    if twice_the_argument > 100:

        return twice_the_argument
    return twice_the_argument
    ### END SOLUTION


@dataclass
class Shelf:
    """Things in a row."""

    things: list[str]

    def put(self, thing: str) -> None:
        """Add at the end."""
        ### BEGIN SOLUTION
        self.things.append(thing)  # at the end
        ### END SOLUTION

    @property
    def full(self) -> bool:
        """Whether ten stand on it."""
        limit = 10
        ### BEGIN SOLUTION
        return how_many(self.things) >= limit
        ### END SOLUTION


LAST = 1
'''

LESSON = """
# A shelf

{{ header }}

Why. See ![a shelf with two things](figures/shelf.svg).

```python setup
from dataclasses import dataclass
from functools import cache

from autograder.student import check, earlier

how_many = earlier("counting").how_many
```

## Doubling

Text with a table and shown code:

```text
---
## not a heading
```

---

After a break.

```python
print(1 + 1)
```

<details class="hint" data-exercise="double"><summary>Hint 1: a nudge</summary>

Add.

---

```python
y = x + ...
```

</details>

<details class="hint" data-exercise="double"><summary>Hint 2: a method</summary>

Add it to itself.

</details>

```python exercise="double" points=2.5
```

```python exercise="Shelf" points=4
```
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return _course(tmp_path / "checkout")


def _course(root: Path) -> Path:
    day = root / "course" / "day02_shelf"
    (day / "figures").mkdir(parents=True)
    (root / "solutions").mkdir()
    (root / "course" / "syllabus.toml").write_text(SYLLABUS)
    (root / "solutions" / "shelf.py").write_text(SOLUTIONS.lstrip())
    (day / "lesson.md").write_text(LESSON.lstrip())
    (day / "figures" / "shelf.svg").write_text("<svg/>")
    return root


@pytest.fixture
def day(root: Path) -> Day:
    return lessons.find_day("shelf", root)


def _edit_lesson(day: Day, old: str, new: str) -> None:
    text = day.lesson_path.read_text()
    assert old in text
    day.lesson_path.write_text(text.replace(old, new, 1))


def _released(day: Day) -> nbformat.NotebookNode:
    return nbformat.reads(lessons.release_bytes(day).decode(), as_version=4)


def _by_id(notebook: nbformat.NotebookNode) -> dict[str, nbformat.NotebookNode]:
    return {cell.id: cell for cell in notebook.cells}


# The table of days


@pytest.mark.parametrize("name", ["2", 2, "02", "day2", "day02", "Day02", "day02_shelf", "shelf"])
def test_a_day_is_found_by_every_name_people_use(root: Path, name: str | int) -> None:
    assert lessons.find_day(name, root).slug == "day02_shelf"


@pytest.mark.parametrize("name", ["4", "day02_counting", "", "shelves", "-2"])
def test_an_unknown_day_names_the_days_that_exist(root: Path, name: str) -> None:
    with pytest.raises(CourseError, match="1 counting, 2 shelf, 3 future") as caught:
        lessons.find_day(name, root)
    assert repr(name) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_day_without_a_lesson_is_not_ready(root: Path) -> None:
    assert [day.ready for day in lessons.syllabus(root)] == [False, True, False]
    with pytest.raises(CourseError, match=r"day 3 .*lesson\.md is missing"):
        lessons.lesson(lessons.find_day("3", root))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('prerequisites = ["counting"]', 'prerequisites = ["future"]', "day 2: the prerequisite 'future'"),
        ("number = 3", "number = 2", "day 2 comes after day 2"),
        ('topic = "future"', 'topic = "shelf"', "day 3: the topic 'shelf' belongs to an earlier day"),
        ("minutes = 30", 'minutes = "long"', "day 1: minutes must be a number, got 'long'"),
        ("minutes = 30", "minuets = 30", "day 1: minutes must be a number, got None"),
        ('difficulty = "easy"', 'difficulty = "easy"\nslug = "x"', "day 1: unknown key 'slug'"),
        ("[[day]]\nnumber = 1", "[[day\nnumber = 1", "line 2"),
    ],
)
def test_a_table_that_contradicts_itself_is_refused(root: Path, old: str, new: str, message: str) -> None:
    (root / "course" / "syllabus.toml").write_text(SYLLABUS.replace(old, new))
    with pytest.raises(CourseError, match=r"course/syllabus\.toml") as caught:
        lessons.syllabus(root)
    assert message in str(caught.value)


# A lesson, taken apart


def test_a_lesson_gives_exercises_setup_and_hints(day: Day) -> None:
    lesson = lessons.lesson(day)
    assert [(exercise.name, exercise.points) for exercise in lesson.exercises] == [("double", 2.5), ("Shelf", 4)]
    assert lesson.points == 6.5
    assert lesson.setup.startswith("from dataclasses import dataclass\n")
    assert lesson.setup.endswith('how_many = earlier("counting").how_many')
    assert [hint.title for hint in lesson.hints["double"]] == ["Hint 1: a nudge", "Hint 2: a method"]
    assert lesson.hints["double"][0].text == "Add.\n\n---\n\n```python\ny = x + ...\n```"
    assert set(lesson.hints) == {"double"}


def test_breaks_and_headings_begin_cells_but_not_inside_fences_and_folds(day: Day) -> None:
    cells = lessons.lesson(day).cells
    assert [cell.role for cell in cells] == [
        "text", "setup", "text", "text", "demo", "text", "exercise", "exercise",
    ]  # fmt: skip
    assert cells[2].source.startswith("## Doubling\n")
    assert "## not a heading" in cells[2].source
    assert cells[3].source == "After a break."
    assert cells[5].source.count("</details>") == 2
    lines = (day.lesson_path).read_text().split("\n")
    for cell in cells:
        if cell.role == "text":
            assert lines[cell.line - 1] == cell.source.split("\n")[0]
        else:
            assert lines[cell.line - 1].startswith("```python")


def test_a_lesson_is_read_again_only_when_a_file_has_changed(day: Day) -> None:
    first = lessons.lesson(day)
    assert lessons.lesson(day) is first
    day.lesson_path.write_text(LESSON.replace("points=4", "points=5").lstrip())
    assert lessons.lesson(day).points == 7.5


def test_reading_a_lesson_imports_no_notebook_library() -> None:
    import subprocess
    import sys

    code = """
import sys, autograder.lessons as lessons
ready = [day for day in lessons.syllabus() if day.ready and day.solutions_path.exists()]
for day in ready: lessons.lesson(day)
print([name for name in ("nbformat", "nbgrader", "jupytext", "torch") if name in sys.modules])
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=lessons.ROOT)
    assert result.stdout.strip() == "[]"


def test_the_source_stays_readable_for_jupytext(day: Day) -> None:
    import jupytext

    cells = jupytext.reads(day.lesson_path.read_text(), fmt="md").cells
    code = [cell for cell in cells if cell.cell_type == "code"]
    assert [cell.metadata.get("exercise") for cell in code if "points" in cell.metadata] == ["double", "Shelf"]
    ours = [cell.source for cell in lessons.lesson(day).cells if cell.role in ("setup", "demo")]
    assert [source for source in ours if source not in [cell.source for cell in code]] == []


SETUP = "```python setup"
SHELF = '```python exercise="Shelf" points=4\n```\n'
BEGIN, END = "    ### BEGIN SOLUTION\n", "    ### END SOLUTION\n"

MISTAKES_IN_LESSON = [
    ('exercise="Shelf"', 'exercise="shelf"', "54: exercise 'shelf' is not in solutions/shelf.py, which defines double"),
    (SHELF, SHELF + SHELF, "56: exercise 'Shelf' is already in line 54"),
    (SHELF, SHELF.replace("\n```", "\nx = 1\n```"), "55: an exercise fence is empty"),
    (SHELF, SHELF.removesuffix("```\n"), '54: this ```python exercise="Shelf" points=4 fence is never closed'),
    ("points=4", "points=four", "54: points must be a number above 0, got 'four'"),
    ("points=4", "points=0", "54: points must be a number above 0, got '0'"),
    ("points=4", "points=nan", "54: points must be a number above 0, got 'nan'"),
    (" points=4", "", '54: ```python exercise="Shelf": write `setup`'),
    ('"Shelf" points', '"Shelf points', '54: ```python exercise="Shelf points=4: no closing quotation'),
    (SETUP, "```python set-up", "7: ```python set-up: write `setup`"),
    (SETUP, "```python", "1: no ```python setup fence"),
    ("```python\nprint", f"{SETUP}\nprint", "29: a second setup fence; the first is in line 7"),
    ("Why.", "```python\nx = 1\n```\n", "5: the setup fence must be the first code cell"),
    ("print(1 + 1)", "x = 1\nprint(1 + )", "31: not valid Python"),
    (
        "from functools import cache\n",
        "",
        "50: double uses 'cache', which neither the setup cell nor an exercise defines",
    ),
    ("## not a heading\n```\n", "", "20: this ```text fence is still open in line 27, where ```python begins another"),
    ('data-exercise="double"', 'data-exercise="triple"', "33: a hint for 'triple', which is not an exercise"),
    ('class="hint" data-exercise', 'class="hint" data-name', "33: a hint opens with a line of the form"),
    ("Add it to itself.", "", "45: an empty hint"),
    ("itself.\n\n</details>", "itself.", "45: this <details> is never closed"),
    ("Why.", "</details>", "5: </details> without its <details>"),
    ("{{ header }}", "", "1: no line {{ header }}"),
    ("figures/shelf.svg", "figures/desk.svg", "5: no such figure: figures/desk.svg"),
]
MISTAKES_IN_SOLUTIONS = [
    (BEGIN, "", "solutions/shelf.py:21: ### END SOLUTION without its ### BEGIN SOLUTION"),
    (END, "", "solutions/shelf.py:16: ### BEGIN SOLUTION without its ### END SOLUTION"),
    (END, BEGIN + END, "solutions/shelf.py:22: second ### BEGIN SOLUTION without an ### END SOLUTION"),
    ("    return x\n", "    return x +\n", "solutions/shelf.py:10: not valid Python"),
    ("limit = 10", "limit = _helper(10)", "lesson.md:54: Shelf uses '_helper', which neither the setup cell nor"),
]


def _error(day: Day, path: Path, old: str, new: str) -> str:
    """What the builder says of a lesson that was right before this edit."""
    lessons.source_notebook(day)
    before = path.read_text()
    assert old in before
    path.write_text(before.replace(old, new, 1))
    with pytest.raises(CourseError) as caught:
        lessons.source_notebook(day)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(("old", "new", "message"), MISTAKES_IN_LESSON, ids=[m[2][:50] for m in MISTAKES_IN_LESSON])
def test_a_mistake_in_a_lesson_is_named_with_file_and_line(day: Day, old: str, new: str, message: str) -> None:
    error = _error(day, day.lesson_path, old, new)
    assert error.startswith(f"course/day02_shelf/lesson.md:{message}")


@pytest.mark.parametrize(
    ("old", "new", "message"), MISTAKES_IN_SOLUTIONS, ids=[m[2][:50] for m in MISTAKES_IN_SOLUTIONS]
)
def test_a_mistake_in_a_solutions_module_is_named_with_file_and_line(
    day: Day, old: str, new: str, message: str
) -> None:
    assert message in _error(day, day.solutions_path, old, new)


def test_an_exercise_without_marks_is_refused(day: Day) -> None:
    error = _error(day, day.lesson_path, 'exercise="Shelf"', 'exercise="_helper"')
    assert error == "solutions/shelf.py:9: _helper has no ### BEGIN SOLUTION"


# Marks


def test_answers_are_taken_out_and_the_stub_names_exercise_and_method() -> None:
    defined = marks.definitions(SOLUTIONS)
    function = marks.without_answers(marks.source_of(SOLUTIONS, defined["double"]))
    assert function == textwrap.dedent(
        '''
        @cache
        def double(x: int) -> int:
            """Twice x."""
            raise NotImplementedError("double")
        '''
    ).strip("\n")
    shelf = marks.without_answers(marks.source_of(SOLUTIONS, defined["Shelf"]))
    assert '        raise NotImplementedError("Shelf.put")\n\n    @property' in shelf
    assert shelf.endswith('        limit = 10\n        raise NotImplementedError("Shelf.full")')


def test_a_stub_belongs_to_the_outermost_function_and_the_innermost_class() -> None:
    source = textwrap.dedent(
        """
        class Outer:
            class Inner:
                def work(self):
                    def step():
                        ### BEGIN SOLUTION
                        return 1
                        ### END SOLUTION
                    return step()
            ### BEGIN SOLUTION
            x = 1
            ### END SOLUTION
        """
    ).strip()
    cleared = marks.without_answers(source)
    ast.parse(cleared)
    assert '                raise NotImplementedError("Outer.Inner.work")\n            return step()' in cleared
    assert cleared.endswith('\n    raise NotImplementedError("Outer")')


def test_free_names_are_those_a_notebook_must_provide() -> None:
    source = """
@wrap
def f(x: Kind = DEFAULT) -> int:
    import math
    y = [z + x for z in LIST]
    return f(y) + math.pi
"""
    assert marks.free_names(source) == {"wrap", "Kind", "DEFAULT", "LIST", "int"}


# Notebooks


def test_the_same_lesson_gives_the_same_bytes_wherever_it_lies(tmp_path: Path, day: Day) -> None:
    elsewhere = lessons.find_day("shelf", _course(tmp_path / "another"))
    assert lessons.release_bytes(day) == lessons.release_bytes(day) == lessons.release_bytes(elsewhere)
    assert lessons.build_source(day).read_bytes() == lessons.build_source(elsewhere).read_bytes()
    assert lessons.build_source(day) == day.root / "build" / "source" / "day02_shelf" / "day02_shelf.ipynb"


def test_release_and_source_are_valid_notebooks_with_valid_nbgrader_metadata(day: Day) -> None:
    for notebook in (lessons.source_notebook(day), lessons.solved_notebook(day), _released(day)):
        nbformat.validate(notebook)
        MetadataValidator().validate_nb(notebook)
        assert notebook.metadata["course"] == {"slug": "day02_shelf", "topic": "shelf", "version": "0.1.0"}
        assert notebook.metadata["kernelspec"]["name"] == "python3"
        assert len({cell.id for cell in notebook.cells}) == len(notebook.cells)


def test_the_release_has_stubs_locked_checks_and_no_outputs(day: Day) -> None:
    notebook = _released(day)
    roles = [cell.metadata["course"]["role"] for cell in notebook.cells]
    assert roles == [
        "text", "setup", "text", "text", "demo", "text", "exercise", "check", "exercise", "check",
    ]  # fmt: skip
    cells = _by_id(notebook)
    stub, check = cells["exercise-double"], cells["check-double"]
    assert stub.source.endswith('raise NotImplementedError("double")')
    assert stub.metadata["nbgrader"]["grade_id"] == "double"
    assert stub.metadata["nbgrader"]["solution"]
    assert not stub.metadata["nbgrader"]["grade"]
    assert stub.metadata.get("editable", True)
    assert check.source == 'check("double")'
    assert check.metadata["nbgrader"]["grade_id"] == "check_double"
    assert check.metadata["nbgrader"]["points"] == 2.5
    assert check.metadata["nbgrader"]["grade"]
    for locked in (check, cells["setup"]):
        assert locked.metadata["nbgrader"]["locked"]
        assert locked.metadata["editable"] is False
        assert "checksum" in locked.metadata["nbgrader"]
    assert all(not cell.outputs and cell.execution_count is None for cell in notebook.cells if cell.cell_type == "code")
    assert "Day 2 · 60 minutes · medium · builds on Day 1 (Counting)" in notebook.cells[0].source


def test_a_solved_notebook_differs_from_the_release_in_its_answers_only(day: Day) -> None:
    solved, released = lessons.solved_notebook(day), _released(day)
    assert [cell.id for cell in solved.cells] == [cell.id for cell in released.cells]
    different = [a.id for a, b in zip(solved.cells, released.cells, strict=True) if a.source != b.source]
    assert different == ["exercise-double", "exercise-Shelf"]
    assert "SOLUTION" not in nbformat.writes(solved)
    namespace: dict[str, object] = {"how_many": len}
    exec("from dataclasses import dataclass\nfrom functools import cache", namespace)
    for name in different:
        exec(_by_id(solved)[name].source, namespace)
    assert eval("double(4), Shelf(['a'] * 10).full", namespace) == (8, True)


def test_a_cell_keeps_its_id_when_another_is_put_before_it(root: Path, day: Day) -> None:
    before = set(_by_id(lessons.source_notebook(day)))
    _edit_lesson(day, "After a break.", "```python\nprint(0)\n```\n\nAfter a break.")
    assert before < set(_by_id(lessons.source_notebook(day)))


def test_two_equal_cells_get_two_ids(day: Day) -> None:
    _edit_lesson(day, "After a break.", "```python\nprint(1 + 1)\n```\n\nAfter a break.")
    demos = [cell for cell in lessons.source_notebook(day).cells if cell.metadata["course"]["role"] == "demo"]
    assert demos[1].id == f"{demos[0].id}-2"


def test_a_release_is_written_only_when_it_changes_and_nothing_else_is_touched(day: Day) -> None:
    stray = day.folder / "notes.txt"
    stray.write_text("mine")
    path = lessons.build_release(day)
    assert path == lessons.release_notebook_path(day) == day.folder / "day02_shelf.ipynb"
    os.utime(path, (1, 1))
    lessons.build_release(day)
    assert path.stat().st_mtime == 1
    assert sorted(p.name for p in day.folder.iterdir()) == ["day02_shelf.ipynb", "figures", "lesson.md", "notes.txt"]
    day.lesson_path.write_text(LESSON.lstrip().replace("After a break.", "After the break."))
    lessons.build_release(day)
    assert "After the break." in path.read_text()


def test_building_is_silent(day: Day, capfd: pytest.CaptureFixture[str]) -> None:
    lessons.build_release(day)
    assert capfd.readouterr() == ("", "")


def test_what_nbgrader_refuses_is_reported_in_one_line(day: Day) -> None:
    _edit_lesson(day, "print(1 + 1)", "### BEGIN HIDDEN TESTS\nassert True\n### END HIDDEN TESTS")
    with pytest.raises(CourseError, match=r"day02_shelf: RuntimeError: Hidden test region") as caught:
        lessons.release_bytes(day)
    assert "\n" not in str(caught.value)


def test_answer_marks_outside_an_exercise_are_refused_by_nbgrader(day: Day) -> None:
    _edit_lesson(day, "print(1 + 1)", "### BEGIN SOLUTION\nx = 1\n### END SOLUTION")
    with pytest.raises(CourseError, match="RuntimeError: Solution region detected in a non-solution cell"):
        lessons.release_bytes(day)


@pytest.mark.slow
def test_a_gradebook_gets_the_day_with_its_points(tmp_path: Path, day: Day, monkeypatch: pytest.MonkeyPatch) -> None:
    from nbgrader.api import Gradebook

    monkeypatch.setenv("PATH", os.defpath)  # alembic is found beside the interpreter all the same
    db_url = f"sqlite:///{tmp_path}/gradebook.db"
    assert lessons.release_bytes(day, db_url) == lessons.release_bytes(day)
    with Gradebook(db_url) as gradebook:
        cells = gradebook.find_notebook("day02_shelf", "day02_shelf").grade_cells
        assert {cell.name: cell.max_score for cell in cells} == {"check_double": 2.5, "check_Shelf": 4.0}


# The first notebook, and work/

START = "# Start\n\n```python\nprint(1)\n```\n\n## Days\n\n{{ days }}\n"


def test_start_here_links_the_days_that_are_ready(root: Path) -> None:
    (root / "course" / "start_here.md").write_text(START)
    path = lessons.build_start(root)
    notebook = nbformat.reads(path.read_text(), as_version=4)
    nbformat.validate(notebook)
    assert [cell.cell_type for cell in notebook.cells] == ["markdown", "code", "markdown"]
    table = notebook.cells[2].source.split("\n")
    assert any("[A shelf](day02_shelf/day02_shelf.ipynb)" in line for line in table)
    assert any("| Later |" in line and "to come" in line for line in table)
    assert path.read_bytes() == lessons.start_bytes(root)


def test_start_here_has_no_exercises(root: Path) -> None:
    (root / "course" / "start_here.md").write_text(START + '\n```python exercise="f" points=1\n```\n')
    with pytest.raises(CourseError, match=r"course/start_here\.md:11: an exercise belongs"):
        lessons.start_bytes(root)


def test_work_is_filled_once_and_never_overwritten(root: Path, day: Day) -> None:
    (root / "course" / "start_here.md").write_text(START)
    lessons.build_start(root)
    lessons.build_release(day)
    (day.folder / "figures" / "figures.py").write_text("print()")
    paths = lessons.prepare_work(root=root)
    work = root / "work"
    notebook = work / "day02_shelf" / "day02_shelf.ipynb"
    figure = work / "day02_shelf" / "figures" / "shelf.svg"
    assert paths == [work / "start_here.ipynb", notebook]
    assert sorted(path.name for path in figure.parent.iterdir()) == ["shelf.svg"]

    notebook.write_text("my own work")
    (work / "start_here.ipynb").write_text("my notes")
    (figure.parent / "mine.svg").write_text("mine")
    (day.folder / "figures" / "shelf.svg").write_text("<svg>new</svg>")
    assert lessons.prepare_work(root=root) == []
    assert notebook.read_text() == "my own work"
    assert (work / "start_here.ipynb").read_text() == "my notes"
    assert figure.read_text() == "<svg>new</svg>"
    assert (figure.parent / "mine.svg").exists()


def test_a_day_that_is_not_released_cannot_be_copied(root: Path, day: Day) -> None:
    with pytest.raises(CourseError, match="autograder release 2"):
        lessons.copy_to_work(day)


# The real course

READY = [day for day in lessons.syllabus() if day.ready]
ALL_NOTEBOOKS = sorted((lessons.ROOT / "course").rglob("*.ipynb"))
every_ready_day = pytest.mark.parametrize("day", READY, ids=lambda day: day.slug)


@every_ready_day
def test_committed_release_is_a_valid_notebook(day: Day) -> None:
    notebook = nbformat.read(lessons.release_notebook_path(day), as_version=4)
    nbformat.validate(notebook)
    MetadataValidator().validate_nb(notebook)


@every_ready_day
def test_exercises_say_their_minutes_and_leave_time_to_read(day: Day) -> None:
    for section in hours._sections(lessons.lesson(day)):
        stated = re.findall(r"about \d+ minutes(?: each)?(?: ·|,) difficulty [123] of 3", section.text, re.IGNORECASE)
        assert stated or not section.exercises, section.text.splitlines()[0]
    assert hours.hours(day).exercises <= 0.8 * day.minutes


@every_ready_day
def test_a_folded_line_is_html_where_markdown_is_not_read(day: Day) -> None:
    """JupyterLab shows what stands between <summary> and </summary> as it is: a backtick is a backtick."""
    for summary in re.findall(r"<summary>(.*?)</summary>", (day.folder / "lesson.md").read_text(encoding="utf-8"), re.DOTALL):
        assert not re.search(r"`|\$|\*\w|\]\(", summary), summary


@every_ready_day
def test_every_exercise_has_a_stub_that_names_it_and_a_ladder_of_three_hints(day: Day) -> None:
    cells = _by_id(nbformat.reads(lessons.release_notebook_path(day).read_text(), as_version=4))
    for exercise in lessons.lesson(day).exercises:
        source = cells[f"exercise-{exercise.name}"].source
        ast.parse(source)
        assert f'raise NotImplementedError("{exercise.name}' in source
        assert len(lessons.lesson(day).hints.get(exercise.name, ())) == 3, f"{exercise.name}: hints"


def _answer_lines(path: Path) -> set[str]:
    """Lines that stand between marks and nowhere else in the module, without the trivial ones."""
    lines = path.read_text().split("\n")
    inside = {number for begin, end in marks.regions("\n".join(lines)) for number in range(begin, end - 1)}
    outside = "\n".join(line for number, line in enumerate(lines) if number not in inside)
    answers = {lines[number].strip() for number in inside}
    return {line for line in answers if len(line) >= 12 and line not in outside}


def test_answer_lines_are_those_between_marks_only(day: Day) -> None:
    assert _answer_lines(day.solutions_path) == {
        "twice_the_argument = x + x",
        "if twice_the_argument > 100:",
        "return twice_the_argument",
        "self.things.append(thing)  # at the end",
        "return how_many(self.things) >= limit",
    }


@pytest.mark.parametrize("path", [day.solutions_path for day in READY], ids=lambda path: path.stem)
def test_every_stub_of_a_solutions_module_is_python_without_an_answer(path: Path) -> None:
    source, answers = path.read_text(), _answer_lines(path)
    assert answers
    for node in marks.definitions(source).values():
        stub = marks.without_answers(marks.source_of(source, node))
        ast.parse(stub)
        assert [line for line in answers if line in stub] == []


def _answers(module: Path) -> list[list[str]]:
    """The answers of a module, each as its lines that are not trivial."""
    lines = [line.strip() for line in module.read_text().split("\n")]
    telling = _answer_lines(module)
    return [
        [line for line in lines[begin : end - 1] if line in telling] for begin, end in marks.regions("\n".join(lines))
    ]


def _words(path: Path, *, hints: bool) -> str:
    """Everything that a notebook's cells say, without indentation; the third hint is nearly the code, on purpose."""
    words = "\n".join(cell.source for cell in nbformat.reads(path.read_text(), as_version=4).cells)
    if not hints:
        words = re.sub(r'<details class="hint".*?</details>', "", words, flags=re.DOTALL)
    return "\n".join(line.strip() for line in words.split("\n"))


@every_ready_day
def test_no_line_of_an_answer_stands_in_the_days_notebook(day: Day) -> None:
    words = _words(lessons.release_notebook_path(day), hints=False)
    assert [line for line in sorted(_answer_lines(day.solutions_path)) if line in words] == []


@every_ready_day
def test_no_hint_gives_an_answer_away_whole(day: Day) -> None:
    words = _words(lessons.release_notebook_path(day), hints=True)
    assert [answer for answer in _answers(day.solutions_path) if answer and all(line in words for line in answer)] == []


@pytest.mark.parametrize("path", ALL_NOTEBOOKS, ids=lambda path: path.stem)
def test_no_answer_of_any_day_stands_in_a_notebook(path: Path) -> None:
    """Two lines in a row are an answer; a demo of another day may well share one, such as `probs = softmax(logits)`."""
    words = _words(path, hints=False)
    assert "BEGIN SOLUTION" not in words
    for module in sorted((lessons.ROOT / "solutions").glob("*.py")):
        for answer in _answers(module):
            pairs = [f"{first}\n{second}" for first, second in itertools.pairwise(answer)] or answer
            assert [pair for pair in pairs if pair in words] == [], module.stem


@pytest.mark.parametrize("path", ALL_NOTEBOOKS, ids=lambda path: path.stem)
def test_no_hidden_check_is_named_in_a_release_notebook(path: Path) -> None:
    text = path.read_text()
    hidden = [
        node.name
        for module in (lessons.ROOT / "autograder" / "checking" / "hidden").glob("test_*.py")
        for node in ast.walk(ast.parse(module.read_text()))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    ]
    assert [name for name in hidden if name in text] == []
    assert "autograder.checking.hidden" not in text


def test_a_notebook_stands_only_where_the_builder_puts_it() -> None:
    expected = {lessons.release_notebook_path(day) for day in READY} | {lessons.ROOT / "course" / "start_here.ipynb"}
    expected.add(lessons.capstone_path())
    assert set(ALL_NOTEBOOKS) - {path for path in ALL_NOTEBOOKS if ".ipynb_checkpoints" in path.parts} <= expected
