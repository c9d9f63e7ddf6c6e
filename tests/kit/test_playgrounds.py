"""The playgrounds without ipywidgets: every lesson's imports succeed, and a sentence says what to install."""

from __future__ import annotations

import ast
import subprocess
import sys

import pytest
import torch

from autograder.lessons import ROOT, lesson, syllabus
from course.kit import playgrounds

READY = [day for day in syllabus() if day.ready]
BLOCKED = """
import sys
sys.modules["ipywidgets"] = None  # as if it was not installed
from autograder.lessons import find_day, lesson
for topic, imports in {imports!r}.items():
    names = {{"__name__": "__main__"}}  # a dataclass looks its module up
    exec(lesson(find_day(topic)).setup, names)
    exec(imports, names)
    print(topic)
"""


def imports_of(day) -> str:
    """The import statements of a lesson's code cells."""
    trees = [ast.parse(cell.source) for cell in lesson(day).cells if cell.role == "demo"]
    found = [ast.unparse(node) for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    return "\n".join(found)


@pytest.fixture
def blocked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ipywidgets", None)


@pytest.mark.slow
def test_every_lesson_imports_what_it_needs_without_ipywidgets(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_WORK", str(tmp_path))
    code = BLOCKED.format(imports={day.topic: imports_of(day) for day in READY})
    assert "from course.kit.playgrounds import" in code
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stdout.splitlines() if " " not in line] == [day.topic for day in READY]


def test_a_playground_says_what_to_install_and_shows_its_first_values(blocked, capsys):
    from course.kit.playgrounds import FloatSlider, IntSlider, Text, interact

    def show(**values: object) -> None:
        print(values)

    look = {"style": {"description_width": "initial"}}
    interact(show, floor=FloatSlider(value=6.2, min=0.0, max=12.0, **look), line=Text("hats", layout={"width": "600px"}))
    assert capsys.readouterr().out == f"{playgrounds.NEEDED}\n{ {'floor': 6.2, 'line': 'hats'} }\n"
    assert interact(layer=IntSlider(11, 0, 29))(show) is show
    assert capsys.readouterr().out == f"{playgrounds.NEEDED}\n{ {'layer': 11} }\n"
    interact(show, floor=(0.0, 12.0))
    assert capsys.readouterr().out == f"{playgrounds.NEEDED}\n"
    assert "pip install ipywidgets" in playgrounds.NEEDED


def test_the_samplers_playground_is_then_a_sentence(blocked):
    assert repr(playgrounds.sampler_playground(torch.zeros(1, 5))) == playgrounds.NEEDED


def test_with_ipywidgets_the_controls_are_its_own():
    import ipywidgets

    assert playgrounds.FloatSlider is ipywidgets.FloatSlider
    with pytest.raises(AttributeError):
        _ = playgrounds.Slider
