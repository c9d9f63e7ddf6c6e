"""The zip for Gradescope, unpacked as Gradescope does, and its script run on what students hand in."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import jsonschema
import pytest

from autograder.base.errors import CourseError, InfrastructureFault
from autograder.gradebook.lms import on_gradescope
from autograder.gradebook.lms.gradescope_zip import write_zip
from autograder.lessons import lesson

from ...support.submissions import SOFTMAX, released, solved

SLUG = SOFTMAX.slug
SCHEMA = json.loads((Path(__file__).parents[2] / "support" / "gradescope_schema.json").read_text())
POINTS = {exercise.name: exercise.points for exercise in lesson(SOFTMAX).exercises}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """/autograder, with the zip's files under source/ and this environment in the course's place for one."""
    folder = tmp_path_factory.mktemp("autograder")
    with zipfile.ZipFile(write_zip(SOFTMAX, folder)) as archive:
        archive.extractall(folder / "source")
        modes = {entry.filename: entry.external_attr >> 16 & 0o777 for entry in archive.infolist()}
    assert modes["setup.sh"] == modes["run_autograder"] == 0o755
    (folder / "source" / "course" / ".venv").symlink_to(Path(sys.prefix))
    return folder


def run(base: Path, **files: object) -> tuple[int, str, dict[str, object] | None]:
    """-> exit status, what was printed, results.json"""
    for name in ("submission", "results"):
        shutil.rmtree(base / name, ignore_errors=True)
        (base / name).mkdir()
    for name, content in files.items():
        (base / "submission" / f"{name}.ipynb").write_text(content if isinstance(content, str) else json.dumps(content))
    done = subprocess.run(["bash", base / "source" / "run_autograder", base], capture_output=True, text=True, timeout=300)
    made = base / "results" / "results.json"
    found = json.loads(made.read_text()) if made.exists() else None
    if found is not None:
        jsonschema.validate(found, SCHEMA)
    return done.returncode, done.stdout + done.stderr, found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("files", "score"),
    [
        ({SLUG: solved()}, sum(POINTS.values())),
        ({"softmax_ada_final": solved(softmax="def softmax(logits):\n    while True: pass")}, sum(POINTS.values()) - POINTS["softmax"]),
        ({SLUG: released(), "scratch": solved()}, 0),
        ({SLUG: "{"}, 0),
    ],
    ids=["right", "endless, by another name", "stubs, and another file", "broken"],
)
def test_one_notebook_is_graded_with_the_hidden_checks(base, files, score):
    status, said, found = run(base, **files)
    assert status == 0, said
    assert found is not None
    assert found["score"] == score
    if "{" not in files.values():
        assert found["extra_data"]["hidden_checks"]


@pytest.mark.slow
@pytest.mark.parametrize("files", [{}, {"a": solved(), "b": solved()}])
def test_a_wrong_file_is_refused_with_what_to_hand_in(base, files):
    status, said, found = run(base, **files)
    assert status == 0, said
    assert found is not None
    assert found["score"] == 0
    assert f"hand in one file, {SLUG}.ipynb" in str(found["output"])


@pytest.mark.parametrize("fault", [CourseError("no wall"), InfrastructureFault("the worker broke")])
def test_what_is_our_fault_is_no_zero(tmp_path, monkeypatch, fault, capsys):
    (tmp_path / "submission").mkdir()
    (tmp_path / "submission" / f"{SLUG}.ipynb").write_text(json.dumps(solved()))

    def fails(*_: object) -> None:
        raise fault

    monkeypatch.setattr(on_gradescope, "graded", fails)
    assert on_gradescope.main(SLUG, tmp_path) == 1
    assert str(fault) in capsys.readouterr().out
    assert not (tmp_path / "results" / "results.json").exists()


def test_the_zip_has_what_grading_needs_and_nothing_of_this_checkout_beside_it(tmp_path):
    names = zipfile.ZipFile(write_zip(SOFTMAX, tmp_path)).namelist()
    assert {"setup.sh", "run_autograder", "course/autograder/checking/hidden/test_softmax.py", "course/pyproject.toml"} <= set(names)
    assert not [name for name in names if "specimens" in name or "__pycache__" in name or "/." in name or "datasets/models/" in name]
