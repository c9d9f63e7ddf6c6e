"""Everything that a verdict depends on is found by reading the sources, and nothing else is."""

import shutil
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

from autograder.base.course_table import known_topics
from autograder.base.imports import names_imported
from autograder.base.specimen_files import SPECIMENS, find_specimens
from autograder.certification.certify import read_specimen
from autograder.grading import verdict_inputs
from autograder.grading.grade import Options, grade_file
from autograder.grading.records import write_record
from autograder.grading.run import fresh_record
from autograder.grading.tasks import Task
from autograder.lessons import ROOT, find_day, solved_notebook
from autograder.lessons.notebooks import as_bytes
from autograder.sandbox.confine import confine


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A copy of the course, to be changed."""
    root = tmp_path_factory.mktemp("course")
    leave_out = shutil.ignore_patterns("*.gguf", "__pycache__", "day*", "templates", "*.svg")
    for name in ("autograder", "course", "datasets", "solutions"):
        shutil.copytree(ROOT / name, root / name, ignore=leave_out)
    return root


@pytest.mark.parametrize(
    "name",
    [
        "autograder/checking/checks/test_samplers.py", "autograder/checking/hidden/test_samplers.py",
        "autograder/checking/helpers/devices.py", "autograder/authoring.py", "autograder/base/evidence.py",
        "autograder/checking/runner.py", "autograder/grading/grade.py",
        "autograder/sandbox/measure/cuda_emulator.py", "autograder/grading/timing_phase.py",
        "autograder/checking/hidden/mistakes/samplers.json",
        "autograder/sandbox/process/session.py", "autograder/sandbox/measure/timing.py", "autograder/sandbox/process/worker.py",
        "autograder/sandbox/process/forkserver.py", "course/kit/models/model.py", "solutions/samplers.py", "solutions/softmax.py",
        "datasets/tiny/config.json", "datasets/multilingual.jsonl",
    ],
)  # fmt: skip
def test_a_change_of_an_input_counts(copy, name):
    before = verdict_inputs.digest("samplers", copy)
    content = (copy / name).read_bytes()
    (copy / name).write_bytes(content + (b"\nMORE = 1\n" if name.endswith(".py") else b"\n"))
    assert verdict_inputs.digest("samplers", copy) != before
    (copy / name).write_bytes(content)
    assert verdict_inputs.digest("samplers", copy) == before


@pytest.mark.parametrize(
    "name",
    [
        "autograder/checking/checks/test_softmax.py", "autograder/checking/hidden/test_kv_cache.py", "autograder/lessons/markdown.py",
        "autograder/grading/executors/local.py", "autograder/certification/certify.py",
        "autograder/checking/hidden/mistakes/softmax.json", "solutions/kv_cache.py", "course/syllabus.toml",
        "course/kit/steppers/tile_stepper.py", "course/kit/steppers/stepping.py", "course/kit/models/drafts.py",
    ],
)  # fmt: skip
def test_a_change_of_anything_else_does_not(copy, name):
    before = verdict_inputs.digest("samplers", copy)
    content = (copy / name).read_bytes()
    (copy / name).write_bytes(content + (b"\nMORE = 1\n" if name.endswith(".py") else b"\n"))
    assert verdict_inputs.digest("samplers", copy) == before
    (copy / name).write_bytes(content)


@pytest.mark.parametrize(
    ("name", "old", "new", "counts"),
    [
        ("autograder/sandbox/process/worker.py", "\nimport", "\n# A reason.\nimport", False),
        ("solutions/samplers.py", '"""Return', '"""Give back', False),
        ("autograder/checking/helpers/devices.py", '"""', '"""Other words. ', False),
        ("autograder/sandbox/measure/timing.py", 'MIN_SPREAD = 4.0\n"""', 'MIN_SPREAD = 4.0\n"""Other words. ', False),
        ("autograder/checking/checks/test_samplers.py", '(student):\n    """', '(student):\n    """Another title. ', True),
    ],
)
def test_comments_and_docstrings_do_not_count_but_titles_of_checks_do(copy, name, old, new, counts):
    before = verdict_inputs.digest("samplers", copy)
    content = (copy / name).read_text()
    (copy / name).write_text(content.replace(old, new, 1))
    assert (copy / name).read_text() != content
    assert (verdict_inputs.digest("samplers", copy) != before) == counts
    (copy / name).write_text(content)


def test_a_topics_numbers_worked_out_by_hand_count_and_another_topics_do_not(copy):
    before = {topic: verdict_inputs.digest(topic, copy) for topic in ("softmax", "samplers")}
    path = copy / "datasets" / "hand_computed.toml"
    path.write_text(path.read_text().replace('derivation = "', 'derivation = "In other words: '))
    assert verdict_inputs.digest("softmax", copy) == before["softmax"], "no verdict depends on a derivation"
    path.write_text(path.read_text() + "\n[softmax.one_more]\nvalue = 1\n")
    assert verdict_inputs.digest("softmax", copy) != before["softmax"]
    assert verdict_inputs.digest("samplers", copy) == before["samplers"]


OPENED = """
import sys
opened = set()
sys.addaudithook(lambda event, args: opened.add(str(args[0])) if event == "open" else None)
from pathlib import Path
from autograder.certification import certify
certify.certify(sys.argv[1], folder=Path(sys.argv[2]), seeds=1)
print(*opened, sep="\\n")
"""
KNOWN_OTHERWISE = ("course/syllabus.toml", "datasets/hand_computed.toml", "course/day02_tokenizer/lesson.md")
"""The order of topics shows in whose references count; of the numbers the topic's own do, and of a lesson its code and points."""


def test_every_file_of_the_course_that_judging_opens_counts(tmp_path):
    """Seen from the grader's process; the modules of the worker are followed from its first one."""
    (tmp_path / "tokenizer").mkdir()
    (tmp_path / "tokenizer" / "right_nothing.py").write_text("# exercise: bpe_encode\n# RIGHT: nothing of its own\npass\n")
    done = subprocess.run([sys.executable, "-c", OPENED, "tokenizer", str(tmp_path)], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    opened = {source_of(Path(line)) for line in done.stdout.splitlines() if Path(line).is_relative_to(ROOT)}
    ours = {path.relative_to(ROOT) for path in opened if not path.is_relative_to(sys.prefix) and path.is_file()}
    others = {path.as_posix() for path in ours - set(verdict_inputs.files("tokenizer"))}
    silent = {
        *(f"autograder/base/{name}.py" for name in ("files", "imports", "parsing", "specimen_files")),
        *(f"autograder/certification/{name}.py" for name in ("__init__", "certify", "mistake_index")),
        *(f"autograder/grading/{name}.py" for name in ("records", "verdict_inputs")),
    }
    assert {name for name in others if not name.startswith("autograder/lessons/")} <= {*KNOWN_OTHERWISE, *silent}
    assert Path("datasets/multilingual.jsonl") in ours
    assert Path("autograder/checking/hidden/test_tokenizer.py") in ours


def test_every_file_of_the_course_that_a_worker_may_read_counts():
    paths = [Path(path) for path in confine.own_paths() if not path.endswith("datasets/models")]
    inside = {file for path in paths for file in ([path] if path.is_file() else path.rglob("*"))}
    readable = {path.relative_to(ROOT) for path in inside if path.suffix in (".py", *verdict_inputs.DATA)}
    how_it_was_made = {Path("datasets", name) for name in ("smollm2_tokenizer/export.py", "tiny/plays.py", "tiny/train.py")}
    for topic in ("softmax", "paging"):
        not_counted = readable - how_it_was_made - set(verdict_inputs.files(topic))
        assert {path.parts[:2] for path in not_counted} <= {("course", "kit")}
    assert len(readable) > 40


@pytest.mark.slow
def test_what_does_not_count_of_the_kit_is_imported_by_nothing_that_is_judged_or_judges():
    """A submission may read all of the kit; the judgement of a specimen depends on what its text can reach."""
    for topic in known_topics():
        counted = set(verdict_inputs.files(topic))
        outside = {
            ".".join(path.relative_to(ROOT).with_suffix("").parts)
            for path in (ROOT / "course" / "kit").rglob("*.py")
            if path.relative_to(ROOT) not in counted
        }
        assert {"course.kit.steppers.stepping", "course.kit.steppers.cache_stepper", "course.kit.steppers.roofline_steps"} <= outside
        assert not {"course.kit.plots", "course.kit.models.model", "course.kit.ranks"} & outside
        sources = [((ROOT / path).read_text(encoding="utf-8"), ".".join(path.parent.parts)) for path in counted if path.suffix == ".py"]
        sources += [(read_specimen(listed).source, "") for listed in find_specimens(SPECIMENS, [topic])]
        found = {name for source, package in sources for name in names_imported(source, package)}
        assert "course.kit.models.model" in found
        assert not found & outside, topic


def source_of(path: Path) -> Path:
    return path.parents[1] / f"{path.name.split('.')[0]}.py" if path.parent.name == "__pycache__" else path


# Stored records


@pytest.fixture
def paging(copy):
    """Day 13 of the copy, whose checks import helpers."""
    shutil.copytree(ROOT / "course" / "day13_paging", copy / "course" / "day13_paging", dirs_exist_ok=True)
    return find_day("paging", copy)


MORE = "\nMORE = 1\n"
SETUP = "```python setup\n"


@pytest.mark.parametrize(
    ("name", "change", "stale"),
    [
        ("autograder/checking/helpers/paged.py", lambda text: text + MORE, True),
        ("autograder/checking/helpers/paged.py", lambda text: text + "# a reason\n", False),
        ("autograder/sandbox/measure/timing.py", lambda text: text + MORE, True),
        ("autograder/checking/hidden/test_paging.py", lambda text: text + MORE, True),
        ("solutions/paging.py", lambda text: text + MORE, True),
        ("course/day13_paging/lesson.md", lambda text: text.replace(SETUP, f"{SETUP}more = 1\n"), True),
        ("course/day13_paging/lesson.md", lambda text: text.replace("points=", "points=1", 1), True),
        ("course/day13_paging/lesson.md", lambda text: text.replace("\n## ", "\nOne more sentence.\n\n## ", 1), False),
    ],
)
def test_a_record_is_stale_after_a_change_of_a_helper_or_grader_and_fresh_after_one_of_prose(paging, copy, name, change, stale):
    digest = verdict_inputs.of_day(paging)
    path = copy / name
    content = path.read_text()
    path.write_text(change(content))
    assert path.read_text() != content
    assert (verdict_inputs.of_day(paging) != digest) == stale
    path.write_text(content)
    assert verdict_inputs.of_day(paging) == digest


def test_grading_again_believes_a_record_only_while_its_inputs_are_the_same(tmp_path, monkeypatch):
    path = tmp_path / "ada" / "day01_softmax.ipynb"
    path.parent.mkdir()
    path.write_bytes(as_bytes(solved_notebook(find_day("softmax"))))
    task, options = Task("ada", find_day("softmax"), path), Options(seed=3)
    record = grade_file(task, options)
    write_record(tmp_path / "records", record)
    assert asdict(fresh_record(tmp_path / "records", task, options)) == asdict(record)
    real = verdict_inputs.meaning
    monkeypatch.setattr(verdict_inputs, "_known", {})
    monkeypatch.setattr(verdict_inputs, "meaning", lambda path, content: real(path, content) + (b"!" if path.name == "runner.py" else b""))
    assert fresh_record(tmp_path / "records", task, options) is None


def test_versions_of_libraries_count(monkeypatch):
    before, here = verdict_inputs.digest("softmax"), verdict_inputs.environment()
    assert {"torch", "numpy", "python"} <= here.keys()
    assert "+" not in here["torch"], "which build it is does not count"
    monkeypatch.setattr(verdict_inputs, "environment", lambda: here | {"torch": "2.99"})
    assert verdict_inputs.digest("softmax") != before
