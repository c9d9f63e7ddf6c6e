"""The learner's path on a system without Linux's modules and functions, simulated: they are taken away before the course is imported."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from autograder.lessons import ROOT, find_day, solved_notebook
from autograder.lessons.notebooks import as_bytes

WITHOUT = """
import asyncio, concurrent.futures, http.server, multiprocessing, os, signal, socket, subprocess, sys, tempfile
import IPython, ipywidgets, jsonschema, matplotlib.pyplot, nbformat, nbgrader.apps, numba, prometheus_client, pytest, rich.progress
import starlette, tokenizers, torch, torch._dynamo, torch.distributed, tqdm, typer, uvicorn
for name in ("fcntl", "grp", "posix", "pty", "pwd", "pyseccomp", "resource", "seccomp", "syslog", "termios", "tty"):
    sys.modules[name] = None
for of, names in (
    (os, "chown fork forkpty getpgid geteuid getgid getuid killpg memfd_create mkfifo pipe2 register_at_fork sched_getaffinity "
         "sched_setaffinity setsid statvfs sysconf uname wait3 wait4 O_NOFOLLOW O_DIRECTORY WNOHANG"),
    (signal, "SIGALRM SIGCHLD SIGHUP SIGKILL SIGUSR1 SIGUSR2 alarm pthread_sigmask setitimer getitimer sigwait"),
    (socket, "AF_UNIX"),
):
    for name in names.split():
        if hasattr(of, name):
            delattr(of, name)
sys.platform = "win32"
"""
CHECK = """
import json, pathlib
from autograder.student import check, earlier, hint, progress
from autograder.lessons import lesson, find_day, solved_notebook
for topic in sys.argv[1:]:
    names = {}
    for cell in solved_notebook(find_day(topic)).cells:
        if cell.cell_type == "code" and cell.metadata.course.role in ("setup", "exercise"):
            exec(compile(cell.source, topic, "exec"), globals())
    for exercise in lesson(find_day(topic)).exercises:
        check(exercise.name)
progress()
"""


def run(script: str, *words: str, work: Path) -> subprocess.CompletedProcess[str]:
    variables = os.environ | {"COURSE_WORK": str(work), "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", WITHOUT + script, *words]
    return subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, encoding="utf-8", timeout=500, check=False)


@pytest.mark.slow
@pytest.mark.parametrize("topics", [("softmax", "samplers"), ("kv_cache", "parallel"), ("serving",)], ids=" ".join)
def test_check_runs_without_linuxs_modules(topics, tmp_path):
    done = run(CHECK, *topics, work=tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]
    standings = json.loads((tmp_path / "progress.json").read_text(encoding="utf-8"))["exercises"]
    assert {name.partition("/")[0] for name in standings} == set(topics)
    assert [name for name, entry in standings.items() if not entry["passed"]] == [], done.stdout


@pytest.mark.slow
def test_the_terminals_commands_run_without_linuxs_modules(tmp_path):
    day = find_day("softmax")
    path = tmp_path / day.slug / f"{day.slug}.ipynb"
    path.parent.mkdir()
    path.write_bytes(as_bytes(solved_notebook(day)))
    for words, expected in ((("check", "day01"), "4 of 4 points"), (("progress",), "Day  1"), (("doctor",), "Python")):
        done = run("from autograder.cli import main\nmain()", *words, work=tmp_path)
        assert done.returncode in (0, 1) if words == ("doctor",) else done.returncode == 0, done.stderr[-2000:]
        assert "Traceback" not in done.stderr, done.stderr[-2000:]
        assert expected in done.stdout, done.stdout


@pytest.mark.slow
def test_a_terminals_check_without_workers_names_what_is_wrong(tmp_path):
    """On Windows `autograder check` runs the cells in its own process: a wrong answer fails there, and a broken cell is named."""
    day = find_day("softmax")
    notebook = solved_notebook(day)
    for cell in notebook.cells:
        name = cell.metadata.course.get("exercise")
        if cell.metadata.course.role == "exercise" and name == "softmax":
            cell.source = "def softmax(logits):\n    return logits.exp() / logits.exp().sum()\n"
        elif cell.metadata.course.role == "exercise" and name == "entropy":
            cell.source = f"1 / 0\n{cell.source}"
    path = tmp_path / "work" / day.slug / f"{day.slug}.ipynb"
    path.parent.mkdir(parents=True)
    path.write_bytes(as_bytes(notebook))
    done = run("from autograder.cli import main\nmain()", "check", "day01", "--json", work=tmp_path / "work")
    assert done.returncode == 1, done.stderr[-2000:]
    exercises = {each["exercise"]: each for each in json.loads(done.stdout)["exercises"]}
    assert 0 < exercises["softmax"]["points"] < 4
    assert exercises["log_softmax"]["passed"]
    assert exercises["entropy"]["points"] == 0
    assert "ZeroDivisionError" in exercises["entropy"]["checks"][0]["message"]


@pytest.mark.slow
def test_modules_of_the_learners_path_import_without_linuxs_modules(tmp_path):
    from autograder.wheel.build import command_files

    engine = [path for path in (ROOT / "solutions").rglob("*.py") if "triton" not in path.name and path.name != "__init__.py"]
    kit = [path for path in (ROOT / "course" / "kit").rglob("*.py") if path.name != "__init__.py"]
    files = {*command_files(ROOT), *(path.relative_to(ROOT) for path in (*engine, *kit))}
    names = sorted(path.with_suffix("").as_posix().replace("/", ".") for path in files if path.suffix == ".py")
    names = [name for name in names if not name.endswith(("__init__", "__main__")) and name not in ON_LINUX]
    script = "import importlib\nfor name in sys.argv[1:]:\n    importlib.import_module(name)\nprint('all', len(sys.argv) - 1)"
    done = run(script, *names, work=tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.endswith(f"all {len(names)}\n")


ON_LINUX: tuple[str, ...] = ()
"""Modules that only grading on Linux imports."""
