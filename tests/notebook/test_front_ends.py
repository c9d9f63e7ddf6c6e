"""Notebooks in other front ends than JupyterLab, simulated: no name of the notebook, another folder, another kernel, no ipywidgets."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from autograder.lessons import find_day, lesson, release_notebook_path, syllabus
from autograder.notebook import workspace
from course.kit.playgrounds import NEEDED

from ..support.kernel import Kernel
from ..support.submissions import SOFTMAX, cells_of, code, released, solved, with_cell

READY = [day for day in syllabus() if day.ready]
SETUP = str(cells_of(released(), "setup")[0]["source"])


@pytest.fixture
def nameless(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current folder that names no day, in a session without a name."""
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    monkeypatch.setenv("COURSE_WORK", str(tmp_path / "work"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("day", READY, ids=lambda day: day.topic)
def test_the_first_cell_names_the_day(day, nameless):
    (setup,) = cells_of(released(day), "setup")
    other = next(each for each in READY if each != day)
    ran = ["", str(cells_of(released(other), "setup")[0]["source"]), setup["source"] + "\n", "def softmax(logits):\n    return logits\n"]
    assert workspace.day_of_notebook({"_ih": ran}) == day


@pytest.mark.parametrize("day", READY, ids=lambda day: day.topic)
def test_without_the_first_cell_the_exercises_name_the_day(day, nameless):
    ran = ["import torch", *(cell["source"] for cell in cells_of(released(day), "exercise"))]
    assert workspace.day_of_notebook({"_ih": ran}) == day


@pytest.mark.parametrize("namespace", [{}, {"_ih": []}, {"_ih": ["", "1 + 1", None]}, {"_ih": 7}], ids=str)
def test_cells_of_no_day_name_none(namespace, nameless):
    assert workspace.day_of_notebook(namespace) is None


def test_the_name_of_the_file_comes_before_the_cells(nameless):
    named = {"_ih": ["", SETUP], "__vsc_ipynb_file__": str(nameless / "day05_samplers.ipynb")}
    assert workspace.day_of_notebook(named) == find_day("samplers")


def test_a_renamed_file_is_the_one_that_is_graded(nameless):
    path = nameless / "my first day.ipynb"
    path.write_text(json.dumps(solved()), encoding="utf-8")
    namespace = {"_ih": ["", SETUP], "__vsc_ipynb_file__": str(path)}
    assert workspace.saved_notebook(SOFTMAX, namespace) == path


FRONT_ENDS = {
    "Colab, Kaggle": None,
    "VS Code on a remote server": "/home/me/day-jvsc-3f9c8b.ipynb",
    "a session that is no path": "/fileId=1aBcD",
}


@pytest.mark.slow
@pytest.mark.parametrize("session", FRONT_ENDS.values(), ids=FRONT_ENDS)
def test_check_without_a_name_where_the_notebooks_name_is_unknown(session, tmp_path):
    kernel = Kernel(tmp_path, session=session)
    try:
        kernel.run("from autograder.student import check")
        assert kernel.run("check()").strip() == (
            "Which exercise? Run the first code cell of the notebook, or name one, as in  check(&quot;softmax&quot;) ."
        )
        assert kernel.run(SETUP).strip() == ""
        answer = next(cell["source"] for cell in cells_of(solved(), "exercise") if cell["metadata"]["course"]["exercise"] == "softmax")
        kernel.run(answer)
        shown = kernel.run("check()")
        assert "4 of 4 points" in shown
        assert "log_softmax: not written yet" in shown or "log_softmax: not defined" in shown
        assert "entropy" in shown
        assert workspace.standings(tmp_path)["softmax/softmax"].passed
        path = tmp_path / SOFTMAX.slug / f"{SOFTMAX.slug}.ipynb"
        assert f"There is no saved notebook at {path}: save yours there" in kernel.run("check(graded=True)")
        path.parent.mkdir()
        path.write_bytes(release_notebook_path(SOFTMAX).read_bytes())
        kernel.run(answer + "\n# later than the file")
        shown = " ".join(kernel.run("check(graded=True)").split())
        assert f"Nothing was graded: {path} does not have softmax as you last ran it. Save there" in shown
    finally:
        kernel.close()


@pytest.mark.slow
def test_day_1_in_another_folder_with_another_kernel_and_no_ipywidgets(tmp_path, monkeypatch):
    spec, elsewhere, work = tmp_path / "jupyter" / "kernels" / "mine", tmp_path / "Downloads", tmp_path / "work"
    for folder in (spec, elsewhere, work):
        folder.mkdir(parents=True)
    argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    about = {"argv": argv, "display_name": "My Python", "language": "python", "env": {"NAME_OF_KERNEL": "mine"}}
    (spec / "kernel.json").write_text(json.dumps(about), encoding="utf-8")
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "jupyter"))
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    first = "import os, sys\nsys.modules['ipywidgets'] = None  # as if it was not installed\nprint(os.environ['NAME_OF_KERNEL'])"
    content = with_cell(solved(), first, place=0)
    content["cells"].append(code("check()", id="last"))
    content["metadata"]["kernelspec"] = {"name": "mine", "display_name": "My Python", "language": "python"}
    client = NotebookClient(nbformat.from_dict(content), timeout=300, resources={"metadata": {"path": str(elsewhere)}})
    client.execute(env=os.environ | {"COURSE_WORK": str(work)})
    cells = client.nb.cells
    assert cells[0].outputs[0].text == "mine\n"
    (playground,) = (cell for cell in cells if "interact(" in cell.source)
    assert NEEDED in "".join(output.get("text", "") for output in playground.outputs)
    assert "image/png" in [kind for output in playground.outputs for kind in output.get("data", {})]
    shown = " ".join(output.get("data", {}).get("text/plain", "") for output in cells[-1].outputs)
    assert [f"{each.name}:" in shown for each in lesson(SOFTMAX).exercises] == [True] * 3
    assert all(each.passed for each in workspace.standings(work).values())
    assert len(workspace.standings(work)) == 3


@pytest.mark.slow
def test_without_ipywidgets_progress_bars_are_text_and_warn_of_nothing(tmp_path):
    setup = str(cells_of(released(find_day("generation")), "setup")[0]["source"])
    assert "from tqdm.auto import tqdm" in setup
    kernel = Kernel(tmp_path)
    try:
        kernel.run("import sys; sys.modules['ipywidgets'] = None")
        assert "IProgress" not in kernel.run(setup)
        assert "3/3" in kernel.run("for _ in tqdm(range(3)): pass")
    finally:
        kernel.close()
