"""Grading: a submission is read as data, run in a worker, and judged into a record; one's trouble is never another's."""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import json
import os
import re
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from autograder import cli
from autograder.base.course_table import earlier_sources
from autograder.base.errors import CourseError, InfrastructureFault
from autograder.base.verdicts import Verdict
from autograder.checking import runner
from autograder.grading import grade, records, verdict_inputs
from autograder.grading.executors import local
from autograder.grading.grade import canaries, our_cells
from autograder.grading.run import drawn_seed, fresh_record, grade_all
from autograder.grading.tasks import find_tasks, is_student_id, left_out
from autograder.grading.timing_phase import grade_one
from autograder.lessons import find_day, lesson
from autograder.notebook.checking import run_for_a_person
from autograder.sandbox import submitted_file
from autograder.sandbox.confine.limits import stopped_after
from autograder.sandbox.process import forkserver_pool
from autograder.sandbox.process.remote_student import Cell, RemoteStudent
from autograder.sandbox.process.session import worker_seed
from autograder.sandbox.protocol.worker_errors import is_memory, student_raised
from autograder.sandbox.submission import MAX_CELLS, BadSubmission, read_submission
from autograder.sandbox.submitted_file import MAX_BYTES
from tests.support.submissions import QUICK, SOFTMAX, cells_of, code, graded, hand_in, only_lost, points, released, solved, with_cell

ENDLESS = "while True:\n    pass\n"
OWN_SOFTMAX = "def softmax(logits):\n    return torch.softmax(logits, dim=-1)\n"


def read(path: Path):
    return read_submission(path, SOFTMAX.slug, our_cells(SOFTMAX))


@pytest.fixture(scope="module")
def a_record(tmp_path_factory) -> records.Record:
    return graded(tmp_path_factory.mktemp("one"), solved())


# Records


def test_a_record_comes_back_as_it_was_written(a_record, tmp_path):
    path = records.write_record(tmp_path, a_record)
    assert path == tmp_path / SOFTMAX.slug / "ada.json"
    assert records.read_record(path) == a_record
    assert records.read_records(tmp_path, SOFTMAX.slug) == [a_record]
    failed = dataclasses.replace(a_record.verdicts[0], outcome="fail", seen=["close", [1.5, None]], times={"8": {"yours": 1.0}})
    a_failure = dataclasses.replace(a_record, verdicts=[failed])
    assert records.read_record(records.write_record(tmp_path, a_failure)) == a_failure


def test_a_record_that_cannot_be_written_whole_leaves_the_old_one_and_nothing_else(a_record, tmp_path, monkeypatch):
    path = records.write_record(tmp_path, a_record)

    def full_disk(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(records.os, "replace", full_disk)
    with pytest.raises(OSError, match="No space"):
        records.write_record(tmp_path, dataclasses.replace(a_record, seed=7))
    assert records.read_record(path).seed == a_record.seed
    assert os.listdir(path.parent) == ["ada.json"]


def test_a_message_that_no_encoding_has_does_not_stop_the_record(a_record, tmp_path):
    odd = dataclasses.replace(a_record, problem="half a pair: \ud800")
    assert records.read_record(records.write_record(tmp_path, odd)).problem == r"half a pair: \ud800"


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": 1}', '{"format": 99}', '{"format": 1, "verdicts": 3, "scores": []}'])
def test_a_damaged_record_is_one_line(text, tmp_path):
    (tmp_path / "ada.json").write_text(text)
    damaged(tmp_path / "ada.json")


def damaged(path: Path) -> None:
    with pytest.raises(CourseError) as error:
        records.read_record(path)
    assert "grade again" in str(error.value)
    assert "\n" not in str(error.value)


WRONG_VALUES = {
    "points as text": lambda table: table["scores"][0].update(points="4"),
    "points that are true": lambda table: table["scores"][0].update(points=True),
    "no number": lambda table: table["scores"][0].update(points=float("nan")),
    "endless": lambda table: table["scores"][0].update(points=float("inf"), max_points=float("inf")),
    "above the maximum": lambda table: table["scores"][0].update(points=1000),
    "below nothing": lambda table: table["scores"][0].update(points=-1),
    "a verdict that is text": lambda table: table.update(verdicts=["pass"]),
    "a weight as text": lambda table: table["verdicts"][0].update(weight="1"),
    "lines that are no list": lambda table: table["verdicts"][0].update(lines="one"),
    "lines of numbers": lambda table: table["verdicts"][0].update(lines=[1]),
    "cells that are a list": lambda table: table.update(cells=["a"]),
    "a problem that is a number": lambda table: table.update(problem=3),
    "a seed as text": lambda table: table.update(seed="0"),
    "another's": lambda table: table.update(student="eve"),
    "another day's": lambda table: table.update(slug="day05_samplers"),
    "a field too many": lambda table: table.update(grade=10),
}


@pytest.mark.parametrize("change", WRONG_VALUES.values(), ids=WRONG_VALUES.keys())
def test_a_record_with_a_value_that_grading_never_writes_is_damaged(change, a_record, tmp_path):
    path = records.write_record(tmp_path, a_record)
    table = json.loads(path.read_text())
    change(table)
    path.write_text(json.dumps(table))
    damaged(path)


def test_a_record_that_is_a_folder_or_nested_without_end_is_damaged(tmp_path):
    (tmp_path / "eve.json").mkdir()
    damaged(tmp_path / "eve.json")
    (tmp_path / "ada.json").write_text("[" * 100_000)
    damaged(tmp_path / "ada.json")


def test_a_record_that_cannot_be_kept_stops_nobody(tmp_path):
    """A folder lies where the record should go; and the same again where the run goes on."""
    tasks = [hand_in(tmp_path, name, solved()) for name in ("ada", "eve", "zoe")]
    records = tmp_path / "records"
    (records / SOFTMAX.slug / "eve.json" / "x").mkdir(parents=True)
    for resume in (False, True):
        found = grade_all(tasks, QUICK, records, resume=resume)
        assert [r.infrastructure is None for r in found] == [True, False, True]
        assert "its record cannot be written: Is a directory" in (found[1].infrastructure or "")
    assert sorted(p.name for p in records.glob("*/*")) == ["ada.json", "eve.json", "zoe.json"]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EDQUOT])
def test_a_disk_that_takes_nothing_is_a_line_for_each_and_no_traceback(number, tmp_path, monkeypatch):
    tasks = [hand_in(tmp_path, name, solved()) for name in ("ada", "eve")]

    def refused(*arguments, **options):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(records, "write_whole", refused)
    found = grade_all(tasks, QUICK, tmp_path / "records")
    assert {r.infrastructure for r in found} == {f"its record cannot be written: {os.strerror(number)}"}


# Who may be a student


def submitted(root: Path, *names: str) -> Path:
    for name in names:
        (root / "submitted" / name / SOFTMAX.slug).mkdir(parents=True)
    return root / "submitted"


def students(folder: Path, only: str | None = None) -> list[str]:
    return [task.student for task in find_tasks(folder, [SOFTMAX], only)]


def test_an_id_has_no_more_bytes_than_a_file_name_has_room_for():
    assert is_student_id("a" * 100)
    assert not is_student_id("a" * 101)
    assert is_student_id("漢" * 66)
    assert not is_student_id("漢" * 67)
    assert len(f"{'漢' * 66}.json".encode()) <= 255


def test_one_name_that_no_file_can_have_stops_nobody(tmp_path):
    folder = submitted(tmp_path, "ada", "漢" * 84)
    assert students(folder) == ["ada"]
    [line] = left_out(folder, [SOFTMAX.slug])
    assert "200 bytes" in line


def test_ids_that_differ_in_case_or_accents_only_are_reported_and_left_alone(tmp_path):
    folder = submitted(tmp_path, "Ada", "ada", "bob", "jos\u00e9", "jose\u0301", "STRASSE", "straße")
    assert students(folder) == ["bob"]
    assert students(folder, "ada") == []
    lines = left_out(folder, [SOFTMAX.slug])
    assert len(lines) == 6
    assert "'Ada': on some disks this is the same name as 'ada': put all files in one folder" in lines
    assert left_out(folder, [SOFTMAX.slug], "bob") == []
    assert len(left_out(folder, [SOFTMAX.slug], "ada")) == 1


def test_a_folder_that_is_a_link_earns_nobody_the_neighbours_points(tmp_path):
    folder = submitted(tmp_path, "ada", "eve", "zoe")
    hand_in(tmp_path, "ada", solved())
    (folder / "eve" / SOFTMAX.slug).rmdir()
    (folder / "eve" / SOFTMAX.slug).symlink_to(folder / "ada" / SOFTMAX.slug)
    (folder / "mallory").symlink_to(folder / "ada")
    assert students(folder) == ["ada", "zoe"]
    assert students(folder, "mallory") == []
    assert [line.split(" is a link")[0] for line in left_out(folder, [SOFTMAX.slug])] == [f"eve: '{SOFTMAX.slug}'", "'mallory':"]


# Reading submissions


def bad_files() -> dict[str, bytes]:
    other = released()
    other["metadata"]["course"]["slug"] = "day05_samplers"
    crowd = released()
    crowd["cells"] += [code("1")] * MAX_CELLS
    return {
        "empty": b"",
        "cut off": json.dumps(solved()).encode()[:3000],
        "text": b"def softmax(x): ...",
        "binary": bytes(range(256)),
        "UTF-16": json.dumps(solved()).encode("utf-16"),
        "a list": b"[]",
        "a string": b'"notebook"',
        "no cells": b'{"metadata": {}}',
        "cells of another kind": b'{"cells": {"0": 1}}',
        "deep": b"[" * 100_000,
        "another day": json.dumps(other).encode(),
        "a crowd of cells": json.dumps(crowd).encode(),
    }


@pytest.mark.parametrize("what", bad_files())
def test_a_file_that_is_no_notebook_gets_a_record_that_says_so_in_one_line(what, tmp_path):
    record = graded(tmp_path, bad_files()[what])
    assert record.problem
    assert "\n" not in record.problem
    assert len(record.problem) < 250
    assert record.status == "unreadable"
    assert record.points == 0
    assert record.max_points == lesson(SOFTMAX).points
    assert record.infrastructure is None


def test_a_missing_file_a_folder_a_link_and_a_giant_are_refused_too(tmp_path):
    path = tmp_path / "day01_softmax.ipynb"
    with pytest.raises(BadSubmission, match="missing"):
        read(path)
    path.mkdir()
    with pytest.raises(BadSubmission, match="plain file"):
        read(path)
    path.rmdir()
    path.symlink_to("/etc/passwd")
    with pytest.raises(BadSubmission, match="plain file"):
        read(path)
    path.unlink()
    with path.open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    with pytest.raises(BadSubmission, match="42 MB"):
        read(path)


def test_a_pipe_in_place_of_a_file_does_not_hang_the_grader(tmp_path):
    task = hand_in(tmp_path, "ada", "")
    task.path.unlink()
    os.mkfifo(task.path)
    assert "plain file" in (grade.grade_file(task, QUICK).problem or "")


def test_cells_that_are_not_cells_are_passed_over(tmp_path):
    notebook = solved()
    odd = [None, 3, "cell", [], {}, {"cell_type": "code"}, {"cell_type": "code", "source": 5}]
    odd += [{"cell_type": "code", "source": [1, "x = 1"]}]
    odd += [code("y = 1", metadata=None), code("z = 1", metadata={"course": 3, "nbgrader": []}, id=7)]
    notebook["cells"] += odd
    assert only_lost(graded(tmp_path, notebook))


def test_our_own_cells_are_not_run_and_the_students_are(tmp_path):
    notebook = with_cell(solved(), "def helper():\n    return 1\n")
    for cell in cells_of(notebook, "demo") + cells_of(notebook, "check"):
        if "def " not in cell["source"]:
            cell["source"] += "\nundefined_name_of_mine"
    cells_of(notebook, "setup")[0]["source"] = "raise SystemExit"
    names = [cell.name for cell in read(hand_in(tmp_path, "ada", notebook).path).cells]
    assert names == ["helper", *(e.name for e in lesson(SOFTMAX).exercises)]


def test_a_definition_that_was_written_into_one_of_our_cells_still_counts(tmp_path):
    notebook = solved(softmax=None)
    cells_of(notebook, "check")[0]["source"] = OWN_SOFTMAX + 'check("softmax")'
    assert only_lost(graded(tmp_path, notebook))


def test_namesakes_of_a_cell_keep_names_of_their_own(tmp_path):
    notebook = with_cell(with_cell(solved(), "def setup():\n    pass"), "def softmax(x):\n    pass")
    cells = read(hand_in(tmp_path, "ada", notebook).path).cells
    assert len({cell.name for cell in cells}) == len(cells)
    assert "setup" not in {cell.name for cell in cells}


# What code may do, and what it costs


def test_the_solved_notebook_gets_everything_and_the_blank_one_nothing(a_record, tmp_path):
    assert only_lost(a_record)
    assert a_record.status == "pass"
    blank = graded(tmp_path, released())
    assert blank.points == 0
    assert all("not written yet" in v.message for v in blank.verdicts)


def test_a_syntax_error_costs_its_exercise_and_says_where(tmp_path):
    record = graded(tmp_path, solved(softmax="dfe softmax(logits):\n    return logits"))
    assert only_lost(record, "softmax")
    verdict = record.exercise("softmax")[0]
    assert "did not run" in verdict.message
    assert verdict.message.endswith("SyntaxError: invalid syntax (cell softmax, line 1)")
    assert verdict.lines == ["line 1: dfe softmax(logits):"]


def test_a_syntax_error_in_a_cell_without_a_definition_names_the_cell_by_its_number(tmp_path):
    record = graded(tmp_path, with_cell(solved(), "x = = 3"))
    assert record.cells == {"cell 2": "error: SyntaxError: invalid syntax (cell 2, line 1)"}
    assert record.status == "pass"


def test_a_cell_that_never_ends_costs_what_it_defines(tmp_path):
    record = graded(tmp_path, solved(entropy=ENDLESS + "def entropy(probs):\n    return probs"))
    assert only_lost(record, "entropy")
    assert record.status == "timed out"


def test_a_cell_that_ends_the_process_costs_what_it_defines(tmp_path):
    record = graded(tmp_path, solved(entropy="import os\nos._exit(0)\ndef entropy(probs):\n    return probs"))
    assert only_lost(record, "entropy")
    assert record.cells["entropy"].startswith("crashed")


def test_a_function_that_ends_the_process_costs_only_its_own_checks(tmp_path):
    record = graded(tmp_path, solved(log_softmax="import os\ndef log_softmax(logits):\n    os._exit(0)"))
    assert only_lost(record, "log_softmax")
    assert {v.outcome for v in record.exercise("log_softmax")} == {"crashed"}


def test_a_function_that_never_ends_is_waited_for_once(tmp_path):
    record = graded(tmp_path, solved(log_softmax="def log_softmax(logits):\n    while True: pass"))
    assert only_lost(record, "log_softmax")
    slow = [v for v in record.exercise("log_softmax") if v.seconds > 0.9 * QUICK.limits.call_seconds]
    assert len(slow) == 1


def test_one_check_that_kills_the_worker_leaves_the_others_their_credit(tmp_path):
    fragile = "import os\ndef softmax(logits):\n    if logits.dim() > 2: os._exit(1)\n    return torch.softmax(logits, dim=-1)"
    share = points(graded(tmp_path, solved(softmax=fragile)))
    assert 0 < share["softmax"] < 1
    assert share["log_softmax"] == share["entropy"] == 1


def test_prints_warnings_plots_magics_and_await_do_not_cost_points(tmp_path):
    noisy = "import warnings, sys\ndef softmax(logits):\n    print('x'); print('y', file=sys.stderr); warnings.warn('old')\n"
    notebook = with_cell(solved(softmax=noisy + "    return torch.softmax(logits, dim=-1)"), "%timeit -n1 -r1 1+1")
    with_cell(notebook, "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()\nplt.gca()")
    with_cell(notebook, "import asyncio\nawait asyncio.sleep(0)")
    assert only_lost(graded(tmp_path, notebook))


def test_the_last_definition_counts_as_it_does_in_a_notebook(tmp_path):
    wrong = "def softmax(logits):\n    return logits"
    assert only_lost(graded(tmp_path, with_cell(solved(), wrong)))
    late = solved()
    late["cells"].append(code(wrong))
    assert points(graded(tmp_path, late))["softmax"] < 1


def test_outputs_and_points_in_the_file_mean_nothing(tmp_path):
    notebook = released()
    for cell in cells_of(notebook, "check"):
        cell["metadata"]["nbgrader"]["points"] = 1000
        cell["outputs"] = [{"output_type": "execute_result", "data": {"text/plain": "1000.0"}, "metadata": {}, "execution_count": 1}]
    record = graded(tmp_path, notebook)
    assert (record.points, record.max_points) == (0, lesson(SOFTMAX).points)


def test_names_that_the_worker_uses_itself_are_the_students_to_use(tmp_path):
    names = "call = start = shell = namespace = wire = 0\ndef check(*a): raise ValueError\ndef setup(): pass\n"
    assert only_lost(graded(tmp_path, with_cell(solved(), names)))


def test_a_helper_with_the_name_of_an_exercise_of_another_day_is_nothing_special(tmp_path):
    assert only_lost(graded(tmp_path, with_cell(solved(), "def top_p_probs(logits, p):\n    return None")))


# Earlier days, and answers that are not there


@pytest.fixture
def worker():
    """Functions in a worker of the samplers day, the second of two that have a lesson."""
    started = []

    def start(source: str) -> RemoteStudent:
        remote = RemoteStudent("samplers", [Cell("probe", source)], earlier_sources("samplers"), limits=QUICK.limits)
        started.append(remote)
        remote.start()
        assert remote.cell_outcomes == {}, remote.cell_outcomes
        return remote

    yield start
    for remote in started:
        remote.close()


def test_functions_of_an_earlier_day_are_the_references(worker):
    import torch

    remote = worker("from autograder.student import earlier\nimport torch\ndef probe(x):\n    return earlier('softmax').softmax(x)")
    assert torch.allclose(remote.probe(torch.tensor([0.0, 0.0])), torch.tensor([0.5, 0.5]))


def test_an_earlier_days_mistake_costs_nothing_today(tmp_path):
    samplers = find_day("samplers")
    setup = cells_of(released(samplers), "setup")[0]["source"]
    assert "earlier(" in setup
    assert only_lost(graded(tmp_path, solved(samplers), samplers))


def test_todays_answers_checks_and_gradebook_cannot_be_imported(worker):
    modules = [
        "solutions.samplers", "solutions.steering", "autograder.checking.checks.test_samplers", "autograder.checking.hidden.test_samplers",
        "autograder.checking.hidden", "autograder.checking.runner", "autograder.certification.certify", "autograder.grading.grade",
    ]  # fmt: skip
    remote = worker(
        "import importlib\n"
        "def probe(names):\n"
        "    found = []\n"
        "    for name in names:\n"
        "        try:\n            importlib.import_module(name)\n            found.append(name)\n"
        "        except ImportError:\n            pass\n"
        "    return found\n"
    )
    assert remote.probe(modules[:5]) == []
    assert remote.probe(["solutions.softmax", "course.kit"]) == ["solutions.softmax", "course.kit"]


def test_no_answer_of_today_is_in_the_workers_memory(worker):
    remote = worker(
        "import gc, types\n"
        "def probe(words):\n"
        "    texts = [o for o in gc.get_objects() if isinstance(o, dict)]\n"
        "    return sorted({w for d in texts for w in words if w in d and isinstance(d[w], (types.FunctionType, str))})\n"
    )
    assert remote.probe(["top_p_probs", "temperature_sample"]) == []


# Infrastructure faults


def test_canaries_stop_a_run_whose_reference_is_wrong(monkeypatch):
    monkeypatch.setattr(grade, "solution_source", lambda topic: "def softmax(logits):\n    return logits\n")
    with pytest.raises(InfrastructureFault, match="reference of day01_softmax got"):
        canaries(SOFTMAX, QUICK)


def test_a_fault_of_ours_is_tried_again_then_kept_for_a_person_and_no_zero(tmp_path, monkeypatch):
    tasks = [hand_in(tmp_path, student, solved()) for student in ("ada", "bela")]
    tries: list[str] = []
    real = grade.grade_file

    def faulty(task, options):
        tries.append(task.student)
        if task.student == "ada":
            raise OSError(28, "No space left on device")
        return real(task, options)

    monkeypatch.setattr(grade, "grade_file", faulty)
    ada, bela = grade_all(tasks, QUICK, tmp_path / "records")
    assert tries.count("ada") == 2
    assert ada.needs_person
    assert "No space" in (ada.infrastructure or "")
    assert ada.status == "needs a person"
    assert only_lost(bela)


def test_a_fork_server_that_died_is_replaced(tmp_path):
    process = forkserver_pool.forkserver(QUICK.limits).process
    process.kill()
    process.wait()
    assert only_lost(grade_one(hand_in(tmp_path, "ada", solved()), QUICK, tmp_path / "records"))


# A run, and taking it up again


def exercise_cell(notebook, name="softmax"):
    return next(cell for cell in cells_of(notebook, "exercise") if cell["metadata"]["course"]["exercise"] == name)


def retyped(kind):
    def change(notebook):
        exercise_cell(notebook)["cell_type"] = kind

    return change


def deleted(notebook):
    notebook["cells"].remove(exercise_cell(notebook))


def again(source, *, above=False):
    """A second cell below or above the exercise's."""

    def change(notebook):
        place = notebook["cells"].index(exercise_cell(notebook))
        notebook["cells"].insert(place + (not above), code(source))

    return change


STUB = "def softmax(logits):\n    raise NotImplementedError('softmax')\n"


@pytest.mark.parametrize(
    ("change", "note"),
    [
        (retyped("markdown"), r"its cell \(\d+\) is a Markdown cell, which does not run: make it a code cell"),
        (retyped("raw"), r"its cell \(\d+\) is a raw cell"),
        (deleted, "its cell is missing from the notebook: copy the cell from a new notebook"),
        (again(STUB), r"cells (\d+) and (\d+) define softmax; the last one counts"),
    ],
)
def test_what_is_odd_about_an_exercises_cells_is_reported_to_student_and_staff(tmp_path, change, note):
    notebook = solved()
    change(notebook)
    record = graded(tmp_path, notebook)
    assert re.match(note, record.notes.pop("softmax"))
    assert record.notes == {}
    first = next(v for v in record.verdicts if v.exercise == "softmax" and v.failed)
    assert re.match(note, first.cause[0].lower() + first.cause[1:])
    assert points(record)["log_softmax"] > 0


def test_a_deleted_cell_is_noted_where_one_of_our_cells_has_a_parameter_of_its_name(tmp_path):
    samplers = find_day("samplers")
    notebook = solved(samplers)
    notebook["cells"].remove(exercise_cell(notebook, "top_k_probs"))
    assert list(grade.read_task(hand_in(tmp_path, "ada", notebook, samplers)).notes) == ["top_k_probs"]


@pytest.mark.parametrize("change", [again(STUB, above=True), again(OWN_SOFTMAX.replace("def softmax", "def other")), lambda notebook: None])
def test_cells_that_cost_nothing_are_not_spoken_of(tmp_path, change):
    notebook = solved()
    change(notebook)
    record = graded(tmp_path, notebook)
    assert (record.notes, record.status) == ({}, "pass")


def test_a_function_that_was_given_a_value_is_named(tmp_path):
    notebook = solved()
    again("softmax = softmax(torch.tensor([1.0, 2.0]))\n")(notebook)
    record = graded(tmp_path, notebook)
    first = next(v for v in record.verdicts if v.exercise == "softmax" and v.failed)
    assert first.message == "your code raised TypeError: softmax is not a function but a value of type Tensor"
    assert "as after `softmax = softmax(...)`" in first.cause


def test_a_function_under_torch_compile_is_graded_as_it_is_written(tmp_path):
    notebook = solved()
    cell = exercise_cell(notebook)
    cell["source"] = "@torch.compile\n" + cell["source"]
    assert graded(tmp_path, notebook).status == "pass"


def test_outputs_of_25_mb_are_read(tmp_path):
    notebook = solved()
    exercise_cell(notebook)["outputs"] = [{"output_type": "stream", "name": "stdout", "text": ["x" * 1000 + "\n"] * 25_000}]
    assert graded(tmp_path, notebook).status == "pass"


def test_the_notebook_format_of_2014_is_named(tmp_path):
    record = graded(tmp_path, json.dumps({"nbformat": 3, "worksheets": [{"cells": []}]}).encode())
    assert "is in the notebook format of 2014 (nbformat 3): open it in Jupyter, save it" in record.problem


def test_a_check_warns_nobody_at_a_terminal(tmp_path):
    wrong = "w = torch.nn.Parameter(torch.zeros(1))\ndef softmax(logits):\n    return torch.softmax(logits + w, -1)\n"
    hand_in(tmp_path, "ada", solved(softmax=wrong))
    command = [sys.executable, "-m", "autograder.cli", "grade", "day01", "--submitted", tmp_path / "submitted"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert "UserWarning" not in ran.stderr


@pytest.mark.parametrize(("load", "processors", "says_so"), [(0.4, 2, False), (3.9, 2, False), (4.1, 2, True), (10.0, 8, False)])
def test_the_message_of_a_stopped_call_names_a_busy_machine(monkeypatch, load, processors, says_so):
    monkeypatch.setattr(os, "getloadavg", lambda: (load, 0.0, 0.0))
    monkeypatch.setattr(os, "cpu_count", lambda: processors)
    message = stopped_after(3.0)
    if says_so:
        assert message.startswith(f"stopped after 3 s. This machine is busy (a load of {load:.0f} on {processors} processors)")
        assert message.endswith("does it end?"), "the load may not be the cause"
    else:
        assert message == "stopped after 3 s: does it end?"
    assert stopped_after(3.0, waited=False) == "stopped after 3 s: does it end?", "the processor time ran out: no load explains that"


def test_checks_in_a_notebook_run_with_one_thread():
    before, seen = torch.get_num_threads(), []
    torch.set_num_threads(2)
    try:
        run_for_a_person("softmax", {"softmax": lambda x: seen.append(torch.get_num_threads()) or x.softmax(-1)}, exercise="softmax")
        assert (set(seen), torch.get_num_threads()) == ({1}, 2)
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize(
    ("names", "message", "memory"),
    [
        (["MemoryError", "Exception"], "", True),
        (["RuntimeError"], "DefaultCPUAllocator: can't allocate memory: you tried to allocate 4000000000000 bytes", True),
        (["RuntimeError"], "DefaultCPUAllocator: not enough memory", True),
        (["OutOfMemoryError", "RuntimeError"], "CUDA out of memory. Tried to allocate 2.00 GiB.", True),
        (["OSError"], "[Errno 12] Cannot allocate memory", True),
        (["RuntimeError"], "out of memory", False),
        (["ValueError"], "not enough memory for 3 blocks", False),
        (["RuntimeError"], "The size of tensor a (3) must match the size of tensor b (4)", False),
    ],
)
def test_out_of_memory_is_distinguished_in_cells_and_in_calls_alike(names, message, memory):
    assert is_memory(names, message) is memory
    assert is_memory(names, message, ["softmax, line 2: out = torch.empty(10**12)"]) is memory
    assert not is_memory(names, message, ["softmax, line 2: raise MemoryError(text)"]), "a student's own raise proves nothing"
    verdict = Verdict("check", "softmax", "title", 1.0, False, "pass")
    runner._student_error("softmax", verdict, student_raised(names, message, []))
    assert verdict.outcome == ("memory" if memory else "error")


def test_a_record_is_fresh_for_the_same_file_course_and_seed_only(tmp_path, monkeypatch):
    task, folder = hand_in(tmp_path, "ada", solved()), tmp_path / "records"
    assert fresh_record(folder, task, QUICK) is None
    record = grade_one(task, QUICK, folder)
    assert fresh_record(folder, task, QUICK) == record
    other_seed = dataclasses.replace(QUICK, seed=1)
    assert fresh_record(folder, task, other_seed) is None
    assert fresh_record(folder, task, other_seed, any_seed=True) == record
    with monkeypatch.context() as patch:
        patch.setattr(verdict_inputs, "of_day", lambda day: "of another course")
        assert fresh_record(folder, task, QUICK) is None
    task.path.write_text(task.path.read_text() + " ")
    assert fresh_record(folder, task, QUICK) is None


def test_a_run_that_is_taken_up_again_keeps_what_is_finished(tmp_path, monkeypatch):
    tasks = [hand_in(tmp_path, student, solved()) for student in ("ada", "bela", "chidi")]
    grade_all(tasks[:2], QUICK, tmp_path / "records")
    done: list[str] = []
    real = local.grade_task
    monkeypatch.setattr(local, "grade_task", lambda task, *more: done.append(task.student) or real(task, *more))
    found = grade_all(tasks, QUICK, tmp_path / "records", resume=True)
    assert [record.student for record in found] == ["ada", "bela", "chidi"]
    assert done == ["chidi"]


def test_the_same_seed_gives_the_same_verdicts_and_another_gives_other_inputs(tmp_path):
    shy = "def softmax(logits):\n    raise ValueError(f'{logits.flatten()[0].item():.6f}')"

    def messages(seed: int) -> list[str]:
        record = graded(tmp_path, solved(softmax=shy), options=dataclasses.replace(QUICK, seed=seed))
        return [v.message for v in record.exercise("softmax")]

    first, again, other = messages(3), messages(3), messages(4)
    assert first == again
    assert first != other


def test_students_with_nearly_the_same_name_keep_their_own_records(tmp_path):
    students = ["ann", "ann.b", "ann_b", "ann-b", "ann+b", "ann@b.c", "Änne"]
    tasks = [hand_in(tmp_path, student, released()) for student in students]
    assert sorted(t.student for t in find_tasks(tmp_path / "submitted", [SOFTMAX])) == sorted(students)
    for task in tasks:
        records.write_record(tmp_path / "records", grade.new_record(task, QUICK))
    assert sorted(r.student for r in records.read_records(tmp_path / "records")) == sorted(students)


def test_folders_that_cannot_be_graded_are_named_and_the_rest_is_found(tmp_path):
    for student in ("ada", "two words", "semi;colon", ".hidden", "x" * 200):
        hand_in(tmp_path, student, "")
    (tmp_path / "submitted" / "ada" / "Day1").mkdir()
    (tmp_path / "submitted" / "notes.txt").write_text("")
    assert [t.student for t in find_tasks(tmp_path / "submitted", [SOFTMAX])] == ["ada"]
    lines = left_out(tmp_path / "submitted", [SOFTMAX.slug])
    assert len(lines) == 4
    assert any("'Day1'" in line for line in lines)
    assert not any("hidden" in line for line in lines)


# The command


@pytest.fixture
def command(tmp_path, monkeypatch, capsys):
    """Runs `autograder ...` in the folder of a class. -> (exit status, output, errors)"""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["autograder", *arguments])
        with pytest.raises(SystemExit) as ended:
            sys.exit(cli.main())  # typer ends the process itself; this is for the day it does not
        captured = capsys.readouterr()
        return int(ended.value.code or 0), captured.out, captured.err

    return run


@pytest.mark.slow
def test_a_class_is_graded_and_what_is_damaged_is_reported_after_the_rest_is_stored(command, tmp_path):
    hand_in(tmp_path, "ada", solved())
    hand_in(tmp_path, "bela", "{")
    hand_in(tmp_path, "two words", solved())
    status, out, errors = command("grade", "softmax", "--jobs", "2")
    assert status == 1
    assert "bela: day01_softmax.ipynb is not JSON" in errors
    assert "'two words'" in errors
    assert len(errors.strip().splitlines()) == 2
    total = f"{lesson(SOFTMAX).points:g}"
    assert any("ada" in line and total in line and "pass" in line for line in out.splitlines())
    assert str(tmp_path / "records") in out
    assert str(tmp_path / "gradebook.db") in out
    assert (tmp_path / "autograded" / "bela" / SOFTMAX.slug / f"{SOFTMAX.slug}.ipynb").exists()
    assert (tmp_path / "submitted" / "bela" / SOFTMAX.slug / f"{SOFTMAX.slug}.ipynb").read_text() == "{"

    (tmp_path / "submitted" / "two words").rename(tmp_path / "two words")
    hand_in(tmp_path, "bela", released())
    status, out, errors = command("grade", "softmax", "--resume")
    assert (status, errors) == (0, "")
    status, out, errors = command("feedback", "softmax")
    assert (status, errors) == (0, "")
    assert "2 pages" in out


@pytest.mark.slow
def test_a_fault_of_ours_ends_with_status_1_and_leaves_no_zero_in_the_gradebook(command, tmp_path, monkeypatch):
    hand_in(tmp_path, "ada", solved())
    hand_in(tmp_path, "bela", solved())
    real = grade.grade_file

    def faulty(task, options):
        if task.student == "ada":
            raise OSError(5, "Input/output error")
        return real(task, options)

    monkeypatch.setattr(grade, "grade_file", faulty)
    status, _, errors = command("grade", "softmax")
    assert status == 1
    assert "needs a person: ada" in errors
    assert "Input/output error" in errors
    assert not (tmp_path / "autograded" / "ada").exists()
    assert (tmp_path / "autograded" / "bela").exists()


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["grade", "day99"], "'day99' is not a day"),
        (["grade", "--submitted", "nowhere"], "no folder"),
        (["grade", "--student", "../ada"], "student id '../ada' cannot be used"),
        (["grade", "--student", "zoe"], "no submission of zoe"),
        (["grade", "--db", "nowhere/gradebook.db"], "cannot be a gradebook"),
        (["grade", "--db", "submitted"], "cannot be a gradebook"),
        (["grade", "--db", "made-up://x"], "cannot be reached|is not a database"),
        (["grade", "--isolation", "wishes"], "no isolation level 'wishes'"),
        (["feedback"], "nothing graded"),
    ],
)
def test_bad_arguments_are_one_line_and_status_2(command, tmp_path, arguments, line):
    hand_in(tmp_path, "ada", solved())
    status, _, errors = command(*arguments)
    assert status == 2
    assert re.search(line, errors)
    assert len(errors.strip().splitlines()) == 1
    assert not (tmp_path / "records").exists()
    assert not (tmp_path / "gradebook.db").exists()


def test_a_gradebook_that_another_program_holds_is_status_1_and_no_reason_to_move_it_away(command, tmp_path):
    import sqlite3

    hand_in(tmp_path, "ada", solved())
    assert command("grade")[0] == 0
    with contextlib.closing(sqlite3.connect(tmp_path / "gradebook.db", isolation_level=None)) as other:
        other.execute("begin exclusive")
        for words in (["grade"], ["round", "softmax"], ["regrade", "softmax"]):
            status, _, errors = command(*words)
            assert status == 1, words
            assert "gradebook.db is in use by another program: try again" in errors
            assert "move it away" not in errors
    assert command("grade")[0] == 0


@pytest.mark.parametrize(("words", "locks"), [(["grade"], "records"), (["round", "softmax"], "rounds"), (["round", "softmax"], "records")])
def test_a_second_run_beside_the_first_is_status_1(command, tmp_path, words, locks):
    hand_in(tmp_path, "ada", solved())
    with records.alone(tmp_path / locks):
        status, _, errors = command(*words)
    assert status == 1
    assert "is running on" in errors
    assert len(errors.strip().splitlines()) == 1


def test_a_gradebook_of_another_kind_or_version_is_one_line_and_stays_as_it_was(command, tmp_path):
    import sqlite3

    hand_in(tmp_path, "ada", solved())
    book = tmp_path / "gradebook.db"

    def refused(reason: str) -> None:
        before = book.read_bytes()
        status, _, errors = command("grade")
        assert status == 2
        assert reason in errors
        assert len(errors.strip().splitlines()) == 1
        assert book.read_bytes() == before
        assert not (tmp_path / "records").exists()

    book.write_text("student,score\nada,10\n" * 100)
    refused("not a gradebook")
    book.unlink()
    with sqlite3.connect(book) as connection:
        connection.execute("create table recipes (name text)")
    refused("not a gradebook")
    with sqlite3.connect(book) as connection:
        connection.execute("create table submitted_assignment (id text)")
        connection.execute("create table alembic_version (version_num text)")
        connection.execute("insert into alembic_version values ('0123456789ab')")
    refused("schema version 0123456789ab")


def test_a_fork_server_outlives_the_thread_that_asked_for_it():
    """bubblewrap ends its child with the thread that started it, so that thread must not be a pool's."""
    from concurrent.futures import ThreadPoolExecutor

    forkserver_pool.close()
    with ThreadPoolExecutor(1) as pool:
        started = pool.submit(forkserver_pool.forkserver).result()
    time.sleep(1.0)
    assert started.alive
    assert forkserver_pool.forkserver() is started


# What a hidden check gives does not come back


TELLTALE = """
import linecache
def tell(x, how):
    words = "SECRET" + "".join(c if c.isalnum() else "_" for c in str(x.tolist()))
    if how == 0:
        raise ValueError(words)
    if how == 1:
        raise type(words, (Exception,), {})("x")
    if how == 2:
        raise NotImplementedError(words)
    if how == 3:
        linecache.cache["<cell " + words] = (1, None, ["raise KeyError  # " + words], "<cell " + words)
        exec(compile("raise KeyError", "<cell " + words, "exec"))
    if how == 4:
        exec(compile(f"def {words}():\\n    raise OSError\\n{words}()", "<cell x", "exec"), {})
    if how == 5:
        return type(words, (), {})()
    if how == 6:
        raise AttributeError("'torch.return_types." + words + "'")
    if how == 7:
        raise IndexError(words)
    if how == 8:
        return type(words, (), {"__len__": lambda self: 2**60, "__getattr__": lambda self, name: exec("raise KeyError(words)")})()
"""


@pytest.mark.parametrize("how", range(9))
def test_nothing_that_a_submission_chose_comes_back_from_a_hidden_check(how, tmp_path):
    from autograder.gradebook.books.pages import outputs, shown

    answers = {name: f"def {name}(x):\n    return tell(x, {how})" for name in ("softmax", "log_softmax", "entropy")}
    record = graded(tmp_path, with_cell(solved(**answers), TELLTALE))
    hidden = [v for v in record.verdicts if v.hidden]
    assert hidden
    assert not any(v.passed for v in hidden)
    if how not in (3, 4, 5, 8):
        assert any("SECRET" in v.message for v in record.verdicts), "the staff's record has it all"
    for verdict in hidden:
        seen = shown(verdict)
        assert "SECRET" not in repr([seen.message, seen.expected, seen.got, seen.cause, seen.lines]), seen
    only_hidden = dataclasses.replace(record, verdicts=hidden)
    assert "SECRET" not in json.dumps([outputs(only_hidden, name) for name in answers])


def test_a_hidden_check_says_which_builtin_exception_and_where(tmp_path):
    from autograder.gradebook.books.pages import shown

    record = graded(tmp_path, solved(softmax="def softmax(logits):\n    raise ValueError('no')"))
    seen = [shown(v) for v in record.verdicts if v.hidden and v.exercise == "softmax"]
    assert {v.message for v in seen} == {"your code raised ValueError"}
    assert all(v.lines == ["softmax, line 2: raise ValueError('no')"] for v in seen)


def test_the_worker_does_not_know_the_runs_seed():
    seed = 2**50 + 12_345
    ask = Cell("ask", "import torch\ndef ask(): return torch.initial_seed()")
    remote = RemoteStudent("softmax", [ask], {}, seed=seed, limits=QUICK.limits)
    try:
        assert remote.ask() == worker_seed(seed) not in (seed, 0)
    finally:
        remote.close()
    assert worker_seed(seed) != worker_seed(seed + 1)


def test_a_class_gets_a_seed_that_nobody_can_guess_and_a_run_that_goes_on_keeps_it(a_record, tmp_path):
    task = hand_in(tmp_path, "ada", solved())
    first, second = drawn_seed(), drawn_seed()
    assert first != second
    assert max(first, second) > 2**32
    records.write_record(tmp_path / "records", dataclasses.replace(a_record, seed=first))
    assert drawn_seed(tmp_path / "records", [task]) == first
    assert drawn_seed(tmp_path / "nowhere", [task]) != first


def test_the_command_draws_a_seed_and_repeats_a_run_with_one(tmp_path):
    hand_in(tmp_path, "ada", solved())
    path = records.record_path(tmp_path / "records", "ada", SOFTMAX.slug)

    def seed_of_run(*more: str) -> int:
        result = CliRunner().invoke(cli.app, ["grade", SOFTMAX.slug, "--submitted", str(tmp_path / "submitted"), *more])
        assert result.exit_code == 0, result.output
        return records.read_record(path).seed

    drawn = seed_of_run()
    assert drawn > 1000
    assert seed_of_run("--resume") == drawn
    assert seed_of_run("--seed", "7") == 7


def test_a_mark_in_front_of_a_notebook_is_no_damage(tmp_path):
    assert only_lost(graded(tmp_path, "\ufeff".encode() + json.dumps(solved()).encode()))


def test_a_file_over_the_limit_is_not_read_to_its_end(tmp_path):
    path = hand_in(tmp_path, "ada", "").path
    with path.open("wb") as file:
        file.truncate(2**40)  # a terabyte that takes no room: whoever reads it is not done today
    file = submitted_file.collect(path)
    assert "more than 42" in (file.problem or "")
    assert file.sha256
    with path.open("ab") as grown:
        grown.truncate(2**40 + 1)
    assert submitted_file.file_sha256(path) != file.sha256


# The machine


@pytest.mark.parametrize("jump", [-10**9, 10**9])
def test_a_clock_that_jumps_changes_no_verdict(jump, tmp_path, monkeypatch):
    """Back or forth by thirty years while a class is graded: limits are kept by a clock that only goes on."""
    stock, calls = time.time, []

    def jumping() -> float:
        calls.append(1)
        return stock() + (jump if len(calls) % 2 else 0)

    monkeypatch.setattr(time, "time", jumping)
    slow = "import time\ndef entropy(probs):\n    time.sleep(0.01)\n    return torch.special.entr(probs).sum(-1)"
    record = graded(tmp_path, solved(entropy=slow))
    assert record.infrastructure is None
    assert record.points == record.max_points
    assert 0 < record.seconds < 1000


@pytest.mark.parametrize("number", sorted(cli.MACHINES))
def test_what_the_disk_refuses_is_one_line(number, monkeypatch, capsys):
    monkeypatch.setattr(cli, "app", lambda: os.fspath(_refuse(number)))
    with pytest.raises(SystemExit) as ended:
        cli.main()
    said = capsys.readouterr().err.strip()
    assert ended.value.code == 1
    assert said == f"autograder: /there/x: {os.strerror(number)}: fix that and run it again"


def _refuse(number: int) -> str:
    raise OSError(number, os.strerror(number), "/there/x")


def test_an_error_of_ours_is_no_line_about_the_disk(monkeypatch):
    monkeypatch.setattr(cli, "app", lambda: _refuse(errno.EBADF))
    with pytest.raises(OSError, match="Bad file"):
        cli.main()


def test_a_gradebook_that_cannot_be_written_is_one_line(monkeypatch, capsys):
    import sqlalchemy

    def refuse():
        raise sqlalchemy.exc.OperationalError("insert", {}, sqlite3.OperationalError("attempt to write a readonly database"))

    monkeypatch.setattr(cli, "app", refuse)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 1
    assert "attempt to write a readonly database" in capsys.readouterr().err.splitlines()[0]
