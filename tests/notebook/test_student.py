"""The student's side: check, hint, earlier, if_solved, progress and where it is saved, and the same verdicts in a terminal."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import types
from pathlib import Path

import nbformat
import pytest
from typer.testing import CliRunner

from autograder import student
from autograder.base.course_table import solution_source
from autograder.checking.runner import reference, select
from autograder.lessons import ROOT, find_day, lesson, release_notebook_path, solved_notebook, syllabus
from autograder.notebook import checking, durations, ladder, rungs, workspace
from autograder.sandbox.process.worker import student_stub
from course.kit import load_model
from course.kit.paths import WORK

from ..support.kernel import Kernel

NUM_CHECKS = len(select("softmax", exercise="softmax", hidden=False))
DROPPED = "[symbol for symbol in symbols if symbol in tokenizer.vocab]"
WRONG = "def softmax(logits):\n    return torch.softmax(logits, dim=0)\n"


@pytest.fixture
def work(tmp_path, monkeypatch):
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.setenv("COURSE_WORK", str(folder))
    monkeypatch.delenv("NBGRADER_EXECUTION", raising=False)
    student._verdicts.clear()
    student._hints_shown.clear()
    return folder


def names(source: str = "") -> dict:
    """A notebook's namespace: the reference of Day 1 with `source` over it."""
    namespace: dict = {"__name__": "notebook"}
    exec(solution_source("softmax"), namespace)
    exec(source, namespace)
    return namespace


def call(namespace: dict, line: str):
    exec(f"from autograder.student import *\nanswer = {line}", namespace)
    return namespace["answer"]


def notebook(folder: Path, topic: str, *, changed: dict[str, str] | None = None) -> Path:
    day = find_day(topic)
    solved = solved_notebook(day)
    for cell in solved.cells:
        course = cell.metadata.get("course", {})
        if changed and course.get("role") == "exercise" and course.get("exercise") in changed:
            cell.source = changed[course["exercise"]]
    path = folder / day.slug / f"{day.slug}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(solved, path)
    return path


def terminal(*arguments: str, folder: Path, cwd: Path | None = None) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "autograder.cli", *arguments], capture_output=True, text=True, cwd=cwd,
        env={**os.environ, "COURSE_WORK": str(folder)},
    )  # fmt: skip


def test_a_right_answer_is_a_table_of_passes_with_its_points(work, capsys):
    call(names(), 'check("softmax")')
    out = capsys.readouterr().out
    assert f"softmax: {NUM_CHECKS} of {NUM_CHECKS} checks pass, 4 of 4 points" in out
    assert "more checks with fresh inputs run" in out
    assert workspace.standings(work)["softmax/softmax"].passed


def test_a_wrong_answer_shows_expected_got_and_the_likely_cause(work, capsys):
    call(names(WRONG), 'check("softmax")')
    out = capsys.readouterr().out
    for words in ("fail", "found:", "expected", "got"):
        assert words in out
    assert "Traceback" not in out
    assert not workspace.standings(work)["softmax/softmax"].passed


def test_an_exception_is_cut_to_the_students_own_lines(work, capsys):
    source = "def softmax(logits):\n    return logits[99]\n"
    namespace = names()
    exec(compile(source, "<cell softmax>", "exec"), namespace)
    call(namespace, 'check("softmax")')
    out = capsys.readouterr().out
    assert "IndexError" in out
    assert "runner.py" not in out


def test_what_is_not_written_or_not_defined_is_said_in_one_line(work, capsys):
    call(names("def softmax(logits):\n    raise NotImplementedError('softmax')\n"), 'check("softmax")')
    assert capsys.readouterr().out.strip().startswith("softmax: not written yet.")
    namespace = names()
    del namespace["softmax"]
    call(namespace, 'check("softmax")')
    assert "not defined" in capsys.readouterr().out


@pytest.mark.parametrize("day", [day for day in syllabus() if day.ready], ids=lambda day: day.slug)
def test_the_stub_of_every_exercise_is_said_in_one_line(work, capsys, day):
    """Whatever else its checks need: a GPU that is not there says nothing of what is written."""
    namespace: dict = {"__name__": "__main__"}  # a dataclass looks its module up
    exec(solution_source(day.topic), namespace)
    for exercise in lesson(day).exercises:
        def stub(*_, name=exercise.name, **__):
            raise NotImplementedError(name)

        answer, namespace[exercise.name] = namespace[exercise.name], stub
        capsys.readouterr()
        call(namespace, f'check("{exercise.name}")')
        assert capsys.readouterr().out.strip().startswith(f"{exercise.name}: not written yet."), exercise.name
        namespace[exercise.name] = answer


def test_where_only_another_exercises_stub_is_met_that_one_is_named(work, capsys):
    stub = "def softmax(logits):\n    raise NotImplementedError('softmax')\n"
    call(names(stub + "def log_softmax(logits):\n    return softmax(logits).log()\n"), 'check("log_softmax")')
    assert capsys.readouterr().out.strip().startswith("log_softmax uses softmax, not written yet. Write that first")


def test_a_mistake_underneath_is_named_before_the_checks_that_show_it(work, capsys):
    uses = "def log_softmax(logits):\n    return (lambda x: softmax(x).log())(logits)\n"
    namespace = names(WRONG + uses)
    call(namespace, 'check("log_softmax")')
    out = capsys.readouterr().out.strip()
    assert out.startswith('log_softmax uses softmax, not checked since that cell was run: run check("softmax") before'), out
    call(namespace, 'check("softmax")')
    capsys.readouterr()
    call(namespace, 'check("log_softmax")')
    assert capsys.readouterr().out.strip().startswith("log_softmax uses softmax, which has failing checks: fix that first")


def test_what_lies_beneath_a_method_and_beneath_that_is_found(work):
    day, namespace = find_day("kv_cache"), {"__name__": "__main__"}
    exec("class KVCache:\n    def get(self): pass\n", namespace)
    exec("def forward_cached(x): return KVCache.x\ndef prefill(x): return forward_cached(x)\n", namespace)
    said = student._what_lies_beneath(day, "prefill", namespace["prefill"], namespace)
    assert said.startswith("prefill uses KVCache and forward_cached, not checked since"), said
    assert student._what_lies_beneath(day, "KVCache", namespace["KVCache"], namespace) == ""


def test_a_right_exercise_underneath_or_a_method_of_its_name_is_not_blamed(work, capsys):
    namespace = names("def log_softmax(logits):\n    return softmax(logits)\n")
    call(namespace, 'check("softmax")')
    capsys.readouterr()
    call(namespace, 'check("log_softmax")')
    assert "log_softmax uses" not in capsys.readouterr().out
    call(names("def log_softmax(logits):\n    return logits.softmax(0)\n"), 'check("log_softmax")')
    assert "log_softmax uses" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("topic", "exercise", "old", "new", "words"),
    [
        ("softmax", "softmax", "amax(dim=-1, keepdim=True)", "amax(dim=-1)", "`keepdim=True` it stays"),
        ("tokenizer", "bpe_encode", "in piece.encode()]", "in map(ord, piece)]", "`piece.encode()` gives a piece's bytes"),
        ("tokenizer", "bpe_encode", DROPPED, "list(piece)", "a character of the text"),
        ("tokenizer", "bpe_encode", f"        symbols = {DROPPED}\n", "", "a byte without a token"),
        ("tokenizer", "bpe_encode", "while len(symbols) > 1:", "while True:", "a piece of one symbol has none"),
        ("tokenizer", "bpe_encode", "tokenizer.ranks.get(pair, math.inf)", "tokenizer.ranks[pair]", "has no rank"),
        ("tokenizer", "bpe_encode", "    ids: list[int] = []\n", "    return tokenizer.encode(text)\n", "its tables and no encode"),
        ("kv_cache", "forward_cached", "causal_mask(t, start + t)", "causal_mask(t, t)", "see n + t keys"),
    ],
)
def test_an_exception_is_reported_with_what_it_proves_in_its_exercise(work, capsys, topic, exercise, old, new, words):
    namespace: dict = {"__name__": "__main__"}
    source = solution_source(topic)
    assert old in source
    source = source.replace(old, new)
    path = work / "cell.py"
    path.write_text(source)
    exec(compile(source, str(path), "exec"), namespace)
    call(namespace, f'check("{exercise}")')
    assert words in capsys.readouterr().out


def test_what_torch_cannot_do_is_not_taken_for_a_stub(work, capsys):
    namespace = names()
    exec(compile("def softmax(logits):\n    return logits.to('meta').cpu()\n", "<cell softmax>", "exec"), namespace)
    call(namespace, 'check("softmax")')
    out = capsys.readouterr().out
    assert "not written" not in out
    assert "NotImplementedError: Cannot copy out of meta tensor" in out


def test_in_a_graded_notebook_every_name_can_be_imported():
    assert set(student.__all__) <= set(vars(student_stub()))


def test_an_unknown_exercise_suggests_the_nearest(work, capsys):
    call(names(), 'check("sofmax")')
    assert "did you mean 'softmax'" in capsys.readouterr().out


def test_what_the_code_prints_is_kept_and_cut(work, capsys):
    call(names("def softmax(logits):\n    print('looking')\n    return torch.softmax(logits, -1)\n"), 'check("softmax")')
    out = capsys.readouterr().out
    assert "Printed by your code" in out
    assert out.count("looking") <= student.PRINTED_LINES


def test_hints_come_step_by_step_and_the_last_one_stays(work, capsys):
    ladder = lesson(find_day("softmax")).hints["softmax"]
    for expected in (*ladder, ladder[-1]):
        call(names(), 'hint("softmax")')
        assert expected.title in capsys.readouterr().out


def test_if_solved_waits_and_opens(work, capsys):
    assert call(names(), 'if_solved("softmax")') is True
    assert call(names(WRONG), 'if_solved("softmax")') is False
    assert "waits for softmax" in capsys.readouterr().out
    assert call(names(WRONG), 'if_solved("softmax", say=False)') is False
    assert capsys.readouterr().out == ""


def test_nbgraders_validate_sees_a_failure_as_an_error(work, monkeypatch):
    monkeypatch.setenv("NBGRADER_EXECUTION", "validate")
    call(names(), 'check("softmax")')
    with pytest.raises(student.ChecksFailed):
        call(names(WRONG), 'check("softmax")')
    assert workspace.standings(work) == {}


def test_earlier_gives_each_function_of_ones_own_that_passes(work, capsys):
    assert call(names(), 'earlier("softmax")').__name__ == "solutions.softmax"  # there is no notebook yet
    assert capsys.readouterr().out == (
        "Day 1 (Softmax): using the course's functions; yours replace them once their checks pass.\n"
    )
    notebook(work, "softmax", changed={"entropy": "def entropy(probs):\n    return probs.sum(-1)\n"})
    own = call(names(), 'earlier("softmax")')
    said = capsys.readouterr().out
    assert re.fullmatch(r"Day 1 \(Softmax\): yours: softmax, log_softmax; the course's: entropy \(fails “.+”\)\.\n", said), said
    assert [getattr(own, name).__module__ for name in ("softmax", "log_softmax", "entropy")] == [
        "earlier_softmax", "earlier_softmax", "solutions.softmax",
    ]  # fmt: skip
    assert repr(own) == "your own softmax and log_softmax and the course's other functions of Day 1 (Softmax)"

    notebook(work, "softmax")
    assert call(names(), 'earlier("softmax")').entropy.__module__ == "earlier_softmax"
    assert capsys.readouterr().out == "Day 1 (Softmax): using your own functions.\n"


def test_earlier_says_whose_functions_they_are_once_in_a_kernel_and_again_where_its_cell_is_rerun(work, capsys, monkeypatch):
    kernel, cell = types.SimpleNamespace(execution_count=1), {"id": "setup"}
    monkeypatch.setattr(student, "shell", lambda: kernel)
    monkeypatch.setattr(student.cells, "running", lambda: cell["id"])
    monkeypatch.setattr(student, "_said", {})
    line = "Day 1 (Softmax): using the course's functions; yours replace them once their checks pass.\n"
    for cell["id"], kernel.execution_count, expected in (("setup", 1, line), ("later", 2, ""), ("setup", 3, line)):
        call(names(), '[earlier("softmax"), earlier("softmax")]')
        assert capsys.readouterr().out == expected
    notebook(work, "softmax")
    cell["id"], kernel.execution_count = "later", 4
    call(names(), 'earlier("softmax")')
    assert capsys.readouterr().out == "Day 1 (Softmax): using your own functions.\n"


def test_earlier_does_not_trust_a_notebook_that_was_broken_after_it_passed(work, capsys):
    for exercise in ("softmax", "log_softmax", "entropy"):
        call(names(), f'check("{exercise}")')
    for broken in (WRONG, "def softmax(logits:\n"):
        notebook(work, "softmax", changed={"softmax": broken})
        found = call(names(), 'earlier("softmax")')
        assert found.softmax.__module__ == "solutions.softmax"
        assert found.entropy.__module__ == "earlier_softmax"


def test_progress_counts_points_and_names_what_is_next(work, capsys):
    call(names(), 'check("softmax")')
    capsys.readouterr()
    call(names(), "progress()")
    line = next(line for line in capsys.readouterr().out.splitlines() if "Softmax" in line)
    assert "1/3 exercises" in line
    assert "4 of 10 points" in line
    assert "next: log_softmax" in line


def test_a_damaged_progress_file_is_no_obstacle(work, capsys):
    (work / workspace.PROGRESS).write_text("{ not json")
    call(names(), 'check("softmax")')
    assert json.loads((work / workspace.PROGRESS).read_text())["exercises"]["softmax/softmax"]["passed"]


def test_the_terminal_gives_the_same_verdicts(work, capsys):
    notebook(work, "softmax", changed={"softmax": WRONG})
    call(names(WRONG), 'check("softmax")')
    here = capsys.readouterr().out
    there = terminal("check", "day01", "--exercise", "softmax", folder=work)
    assert there.returncode == 1
    verdicts = [line for line in here.splitlines() if line.startswith(("  pass", "  fail", "  error"))]
    assert verdicts == [line for line in there.stdout.splitlines() if line.startswith(("  pass", "  fail", "  error"))]
    assert len(verdicts) == NUM_CHECKS


def test_check_takes_a_path_a_day_or_stands_in_a_days_folder(work):
    path = notebook(work, "softmax", changed={"softmax": WRONG})
    copied = work / "mine.ipynb"  # its metadata says of which day it is
    shutil.copy(path, copied)
    outputs = [
        terminal("check", *arguments, "--exercise", "softmax", folder=work, cwd=cwd).stdout
        for arguments, cwd in ((("day01",), work), ((str(path),), work), ((str(copied),), work), ((), path.parent))
    ]
    assert "checks pass" in outputs[0]
    assert len(set(outputs)) == 1
    lost = terminal("check", folder=work, cwd=work)
    assert (lost.returncode, lost.stderr) == (
        2, "autograder: no day given: give one (day05, 5, samplers) or a notebook, or run this in a day's folder\n",
    )  # fmt: skip


def test_what_is_not_begun_is_one_line_for_each_exercise(work):
    day = find_day("samplers")
    (work / day.slug).mkdir()
    shutil.copy(release_notebook_path(day), work / day.slug / f"{day.slug}.ipynb")
    ran = terminal("check", "samplers", folder=work)
    assert ran.returncode == 1
    assert ran.stdout.splitlines() == [f"{each.name}: not written yet" for each in lesson(day).exercises]


def test_an_invalid_choice_is_named_without_the_librarys_prefix():
    from autograder import cli

    shown = CliRunner().invoke(cli.app, ["race", "--model", "nope"])
    assert shown.exit_code == 2
    assert "Invalid value for '--model': 'nope' is not one of 'tiny', 'smollm2'." in shown.output


def test_help_names_each_command_once_in_a_group_and_in_a_line():
    from autograder import cli

    shown = CliRunner().invoke(cli.app, ["--help"], env={"COLUMNS": "80"}).output
    grouped = [name for lines in cli.GROUPS.values() for name in lines]
    assert sorted(grouped) == sorted(cli.typer.main.get_command(cli.app).commands)
    for name in grouped:
        assert len(re.findall(rf"^  {name} +\S.*$", shown, re.MULTILINE)) == 1
    assert max(map(len, shown.splitlines())) <= 80
    assert re.fullmatch(r"From Prompt to Token \d+\.\d+\.\d+\n", CliRunner().invoke(cli.app, ["--version"]).output)


def test_bad_arguments_are_one_line_and_exit_2(work):
    shutil.copy(release_notebook_path(find_day("samplers")), work / "other.ipynb")
    for arguments in (
        ("check", "day99"),
        ("check", "day01", "--exercise", "softmin"),
        ("check", "day01"),
        ("check", "day01", "--notebook", str(work / "other.ipynb")),
    ):
        result = terminal(*arguments, folder=work)
        assert result.returncode == 2, arguments
        assert len(result.stderr.strip().splitlines()) == 1, result.stderr


def test_speeds_stand_on_the_ladder_from_day_to_day(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("COURSE_WORK", str(tmp_path))
    monkeypatch.setattr(ladder, "machine_bandwidth", lambda: 4 * 1_054_080 * 100.0)
    tiny = load_model("tiny")
    student.rung("Day 7, recomputing", 10.0, model=tiny)
    student.rung("Day 10, KV cache", 50.0, model=tiny)
    student.rung("Day 10, KV cache", 60.0, model=tiny)  # measured again
    student.rung("Day 11, 16 rows", 320.0, model=tiny, batch=16)
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("Day 7, recomputing: 10.0 tokens/s (tiny), 10% of the ")
    assert said[2].endswith("6.0 times Day 7, recomputing")
    assert [(r.name, r.tokens_per_second, round(r.of_bandwidth, 2)) for r in rungs.rungs()] == [
        ("Day 7, recomputing", 10.0, 0.1),
        ("Day 10, KV cache", 60.0, 0.6),
        ("Day 11, 16 rows", 320.0, 0.2),  # one read of the weights serves 16 rows
    ]
    student.progress()
    shown = capsys.readouterr().out
    assert "Your ladder" in shown
    assert "Day 11, 16 rows (tiny, B = 16)" in shown
    assert 'scope="col"' in rungs.html(rungs.rungs())


@pytest.mark.parametrize(
    ("speed", "shown"),
    [
        (1234.56, "1234.6"), (45.34, "45.3"), (9.96, "10.0"), (9.94, "9.9"), (1.0, "1.0"), (0.55, "0.55"), (0.034, "0.034"),
        (0.00042, "0.00042"),
    ],
)  # fmt: skip
def test_a_slow_rung_shows_two_digits(tmp_path, monkeypatch, capsys, speed, shown):
    """A speed that is not 0 is never shown as 0.0."""
    monkeypatch.setenv("COURSE_WORK", str(tmp_path))
    monkeypatch.setattr(ladder, "machine_bandwidth", lambda: 1e9)
    student.rung("Day 4, one token", speed, model=load_model("tiny"))
    assert f"Day 4, one token: {shown} tokens/s (tiny), " in capsys.readouterr().out
    assert re.search(rf" {re.escape(shown)}  +\d+%  ", rungs.text(rungs.rungs()))
    assert f">{shown}<" in rungs.html(rungs.rungs())
    student.rung("Day 7, recomputing", speed * 0.034, model=load_model("tiny"))
    assert "; 0.034 times Day 4, one token" in capsys.readouterr().out


@pytest.mark.parametrize("speed", [0, -1.0, float("nan"), float("inf"), "fast"])
def test_a_speed_that_is_none_is_refused(tmp_path, monkeypatch, speed):
    monkeypatch.setenv("COURSE_WORK", str(tmp_path))
    with pytest.raises(ValueError, match="positive"):
        student.rung("Day 7", speed, model=load_model("tiny"))


def test_the_desk_is_the_folder_of_days_that_one_stands_in_or_beside(tmp_path, monkeypatch):
    monkeypatch.delenv("COURSE_WORK", raising=False)
    day = tmp_path / find_day("samplers").slug
    day.mkdir()
    for here, desk_is in ((tmp_path, tmp_path), (day, tmp_path), (tmp_path.parent, WORK)):
        monkeypatch.chdir(here)
        assert workspace.workspace_folder() == desk_is


WITHOUT_UNIX = """
import os, signal, sys
for name in ("fcntl", "grp", "pwd", "pyseccomp", "resource", "termios"):
    sys.modules[name] = None
for name in ("fork", "getuid", "killpg", "sched_getaffinity", "setsid"):
    delattr(os, name)
for name in ("SIGALRM", "SIGKILL", "SIGPROF", "setitimer"):
    delattr(signal, name)
from autograder import doctor, student
softmax = lambda logits: logits.softmax(dim=-1)
student.check("softmax")
print(doctor.isolation())
"""


def test_a_check_runs_where_python_lacks_what_windows_lacks(work):
    """Notebooks open on Windows; what grades a class needs Linux, and the doctor says so. The test imitates Windows."""
    environment = {**os.environ, "COURSE_WORK": str(work)}
    done = subprocess.run([sys.executable, "-c", WITHOUT_UNIX], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert f"{NUM_CHECKS} of {NUM_CHECKS} checks pass" in done.stdout
    assert "this system cannot fork" in done.stdout


def test_how_long_checks_take_is_known_of_every_exercise():
    for day in (day for day in syllabus() if day.ready):
        for exercise in lesson(day).exercises:
            checks = select(day.topic, exercise=exercise.name, hidden=False)
            estimate = durations.beforehand(day.topic, exercise.name, checks)
            assert f"{len(checks)} check" in estimate
            assert ("about" in estimate) or ("under a second" in estimate)
            assert ("leave the machine alone" in estimate) == any(check.timing for check in checks)


def test_what_is_printed_without_an_end_is_not_kept(work, capsys):
    call(names("def softmax(logits):\n    print('x' * 1000)\n    return logits.softmax(-1)\n"), 'check("softmax")')
    assert capsys.readouterr().out.count("x" * 1000) <= student.PRINTED_LINES
    captured = checking._Captured()
    for _ in range(1000):
        assert captured.write("y" * 1000) == 1000
    assert len(captured.getvalue()) <= checking.CAPTURED_CHARS


def test_a_function_that_is_not_from_here_is_named_and_not_noted(work, capsys):
    namespace = names()
    namespace["softmax"] = reference("softmax").softmax
    call(namespace, 'check("softmax")')
    assert "this function is the course's own" in capsys.readouterr().out
    assert call(namespace, 'if_solved("softmax")') is False
    assert workspace.standings(work) == {}


def test_a_function_may_be_given_itself_and_what_is_none_is_reported_in_a_line(work, capsys):
    call(names(), "check(softmax)")
    assert f"{NUM_CHECKS} of {NUM_CHECKS} checks pass" in capsys.readouterr().out
    for line in ("check(print)", 'check("xyzzy")', "check(3)", "check()"):
        call(names(), line)
        assert len(capsys.readouterr().out.splitlines()) == 1


def test_the_module_of_an_earlier_day_shows_no_path(work):
    assert repr(call(names(), 'earlier("softmax")')) == "the course's functions of Day 1 (Softmax)"


TABLE = {"exercises": {"softmax/softmax": {"points": 4, "max_points": 4, "passed": True, "when": 0.0}}}


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The sentences that a notebook shows."""
    sentences: list[str] = []
    monkeypatch.setattr(workspace, "in_notebook", lambda: True)
    monkeypatch.setattr(workspace, "show_line", sentences.append)
    monkeypatch.setattr(workspace, "_said", set())
    monkeypatch.delenv("COURSE_WORK", raising=False)
    return sentences


def test_a_missing_folder_is_made(shown, tmp_path):
    folder = tmp_path / "course" / "work"
    workspace.write_progress(folder, TABLE)
    assert workspace.standings(folder)["softmax/softmax"].passed
    assert [path.name for path in folder.iterdir()] == ["progress.json"]
    assert shown == []


def test_a_folder_that_cannot_be_written_to_is_said_once(shown, tmp_path):
    (tmp_path / "file").write_text("mine")
    folder = tmp_path / "file" / "work"
    workspace.write_progress(folder, TABLE)
    workspace.write_progress(folder, TABLE)
    (sentence,) = shown
    assert sentence.startswith(f"Your progress is not saved: {folder} cannot be written to (Not a directory). Set `COURSE_WORK` to")
    assert (tmp_path / "file").read_text() == "mine"


def test_a_disk_that_is_full_is_said_and_leaves_no_part(shown, tmp_path, monkeypatch):
    def full(*args: object) -> None:
        raise OSError(28, "No space left on device")

    workspace.write_progress(tmp_path, {"exercises": {}})
    monkeypatch.setattr(workspace.os, "replace", full)
    workspace.write_progress(tmp_path, TABLE)
    assert "(No space left on device)" in shown[0]
    assert [path.name for path in tmp_path.iterdir()] == ["progress.json"]
    assert workspace.standings(tmp_path) == {}


def test_outside_a_notebook_a_missing_folder_is_made_only_if_it_was_named(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("COURSE_WORK", raising=False)
    workspace.write_progress(tmp_path / "work", TABLE)
    assert not (tmp_path / "work").exists()
    monkeypatch.setenv("COURSE_WORK", str(tmp_path / "named"))
    workspace.write_progress(workspace.workspace_folder(), TABLE)
    assert workspace.standings(tmp_path / "named")
    assert capsys.readouterr().out == ""


def test_a_notebook_in_the_folder_of_releases_says_that_nothing_is_saved(shown, monkeypatch):
    monkeypatch.chdir(ROOT / "course" / "day01_softmax")
    workspace.note_standing("softmax", "softmax", 4, 4, True)
    workspace.note_standing("softmax", "entropy", 4, 4, True)
    (sentence,) = shown
    assert sentence == "Your progress is not saved, because this notebook is in `course/`: work in your own copy, in `work/`."
    assert not (ROOT / "course" / "progress.json").exists()


@pytest.mark.slow
def test_a_kernel_makes_the_folder_that_course_work_names(tmp_path: Path):
    kernel = Kernel(tmp_path)
    try:
        named = tmp_path / "not" / "there"
        kernel.run(f"import os; os.environ['COURSE_WORK'] = {str(named)!r}")
        kernel.run("from autograder.student import set_record")
        kernel.run('set_record(15, 3, "passes", text=14)')
        assert (named / "progress.json").is_file()
    finally:
        kernel.close()
