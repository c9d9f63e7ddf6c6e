"""Solved notebooks with their outputs, executed once: the site shows what the tests look at, whichever of them comes first.

A day is run again only when something that its outputs come from has changed.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import math
import os
import resource
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from autograder import desk
from autograder.certified import figures
from autograder.datafiles import hand_computed
from autograder.errors import CourseError
from autograder.grading.records import machine_name
from autograder.imports import imported_files, names_imported
from autograder.lessons import ROOT, Day, lesson, solved_notebook, syllabus
from autograder.lessons.notebooks import as_bytes, copy_figures, write_if_changed
from autograder.runner import load_checks
from course.kit import paths

if TYPE_CHECKING:
    from nbclient import NotebookClient
    from nbformat import NotebookNode

CACHE = ROOT / "build" / "executed"
FORM = 2
"""Of what is noted of a run; what was noted otherwise is not read."""
MAX_SECONDS = 600
"""For one cell; a machine may be slow, but a build must end."""

STALL_SECONDS = 60.0
STALL_PROCESSOR_SECONDS = 0.5
"""A kernel that has used less than this for so long while a cell is due: request or answer went astray, and the build would wait for
MAX_SECONDS (seen once, with ipykernel 7.4). It is ended, and the notebook run anew."""
ATTEMPTS = 3

# Runs in the kernel before the first cell. A picture of a plot says nothing to who cannot see it; the plot's own words do.
DESCRIBE_PLOTS = '''
def _describe(figure):
    parts = [figure.get_suptitle()] if figure.get_suptitle() else []
    for axes in figure.axes:
        title = axes.get_title() or axes.get_title(loc="left")
        labels = " against ".join(filter(None, (axes.get_ylabel(), axes.get_xlabel())))
        legend = axes.get_legend()
        names = ", ".join(text.get_text() for text in legend.get_texts()) if legend else ""
        words = ": ".join(filter(None, (title, labels))) + (f" ({names})" if names else "")
        parts += [words] if words else []
    alt = "Plot. " + ". ".join(" ".join(part.split()) for part in parts)
    return {}, {"image/png": {"alt": alt}}


get_ipython().display_formatter.mimebundle_formatter.for_type_by_name("matplotlib.figure", "Figure", _describe)
'''


def executed(
    days: Sequence[Day], cache: Path = CACHE, *, at_once: int = 1, say: Callable[[str], None] = print
) -> dict[str, NotebookNode]:
    """{slug: the solved notebook with outputs}, the days in order. What is not in the cache is run and put there, `at_once` days at a time.

    Raises CourseError, with the day and the cell, where a cell fails or a check does not pass; such a run is not kept. Where two
    processes want the same day, one runs it and the other waits.
    """
    import nbformat

    def one(day: Day) -> NotebookNode:
        path = cache / f"{day.slug}-{key(day, days)}.ipynb"
        before = [asked[other.slug].result().metadata["site"]["ladder"] for other in needed(day, days)[:-1] if other.slug in asked]
        with alone(cache / f".{day.slug}.lock"):
            if path.exists():
                ran = nbformat.read(path, as_version=4)
            elif stop.is_set():
                raise CourseError(f"{day.slug}: not run, for another day failed")
            else:
                say(f"{day.slug}: running its notebook")
                ran = run(day, [rung for ladder in before for rung in ladder.items()])
                say(f"{day.slug}: {ran.metadata['site']['seconds']:.0f} s")
                for old in cache.glob(f"{day.slug}-*.ipynb"):
                    old.unlink()
                write_if_changed(path, as_bytes(ran))
        return with_outputs(solved_notebook(day), ran)

    def or_stop(day: Day) -> NotebookNode:
        try:
            return one(day)
        except BaseException:
            stop.set()
            raise

    asked: dict[str, Future[NotebookNode]] = {}
    stop = threading.Event()
    with ThreadPoolExecutor(at_once) as kernels:
        for day in days:  # in order, so that whom a day waits for is already running
            asked[day.slug] = kernels.submit(or_stop, day)
        try:
            return {slug: notebook.result() for slug, notebook in asked.items()}
        except KeyboardInterrupt:
            stop.set()
            _end_kernels()
            raise


def _end_kernels() -> None:
    """Whoever stops a build does not wait until the notebooks that run have come to their end."""
    import psutil

    for child in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            if "ipykernel_launcher" in child.cmdline():
                child.kill()


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Nobody else holds this lock meanwhile. It goes with its process, however that ends."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def needed(day: Day, days: Sequence[Day]) -> list[Day]:
    """Of these days those that are to be executed for this one to be: it, and where it shows the ladder, those that set a rung before."""
    earlier = [other for other in days if other.number < day.number and _uses(other, "rung(")]
    return [*(earlier if _uses(day, "rung(", "progress(") else []), day]


def key(day: Day, days: Sequence[Day]) -> str:
    """Changes with whatever the outputs depend on: code cells, answers so far, checks, kit, what notebooks import, the model, torch.

    Prose does not count, nor do figures to step through that no cell of this day asks for.
    """
    cells = [cell.source for cell in solved_notebook(day).cells if cell.cell_type == "code"]
    parts: list[Any] = [FORM, torch.__version__, paths.SMOLLM2.is_file(), DESCRIBE_PLOTS, *cells]
    parts += [hand_computed(day.topic), sum(check.hidden for check in load_checks(day.topic))]
    folder = day.root / "course" / "kit"
    kit = set(folder.glob("*.py")) - figures(day.root) | figures_shown(day.root, cells)
    kit |= {path for path in folder.glob("*/*.py") if any(f"course.kit.{path.parent.name}" in cell for cell in cells)}
    files = {*kit, *(day.root / path for path in imported_files(day.root, ["autograder.student"]))}
    files |= {other.solutions_path for other in syllabus(day.root) if other.number <= day.number and other.solutions_path.exists()}
    files.add(day.root / "autograder" / "checks" / f"test_{day.topic}.py")
    parts += [path.read_bytes() for path in sorted(files)]
    parts += [other.slug for other in needed(day, days)]
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def figures_shown(root: Path, cells: Sequence[str]) -> set[Path]:
    """The kit's figures to step through that these cells import, and those that these are made with."""
    known = {f"course.kit.{path.stem}": path for path in figures(root)}
    shown: set[Path] = set()
    waiting = [name for name in known if any(name in cell for cell in cells)]
    while waiting:
        path = known[waiting.pop()]
        if path not in shown:
            shown.add(path)
            waiting += [name for name in names_imported(path.read_text(encoding="utf-8"), "course.kit") if name in known]
    return shown


def _uses(day: Day, *calls: str) -> bool:
    return any(call in cell.source for cell in lesson(day).cells if cell.role == "demo" for call in calls)


class Stalled(Exception):
    """A kernel that did nothing while a cell was due."""


@contextmanager
def ended_if_it_stalls(client: NotebookClient) -> Iterator[None]:
    """Ends the client's kernel if it does nothing for STALL_SECONDS, and then raises Stalled instead of what came of that."""
    import psutil

    done, stalled = threading.Event(), threading.Event()

    def watch() -> None:
        since, used = time.monotonic(), -math.inf  # the first look begins the count
        while not done.wait(1.0):
            provisioner: Any = getattr(client.km, "provisioner", None)
            with contextlib.suppress(psutil.Error, AttributeError):  # not there yet, or gone
                kernel = psutil.Process(provisioner.pid)
                now = sum(sum(each.cpu_times()[:2]) for each in [kernel, *kernel.children(recursive=True)])
                if abs(now - used) > STALL_PROCESSOR_SECONDS:  # less, where a child has ended
                    since, used = time.monotonic(), now
                elif time.monotonic() - since > STALL_SECONDS:
                    stalled.set()
                    kernel.kill()
                    return

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    except Exception:
        if stalled.is_set():
            raise Stalled from None
        raise
    finally:
        done.set()
        watcher.join()


def run(day: Day, ladder: Sequence[tuple[str, Any]] = ()) -> NotebookNode:
    """The day's solved notebook, run at the desk of a student who has solved all earlier days. Raises CourseError."""
    for _ in range(ATTEMPTS):
        with contextlib.suppress(Stalled):
            return run_once(day, ladder)
    raise CourseError(f"{day.slug}: {ATTEMPTS} kernels stopped answering; build again when the machine is less busy")


def run_once(day: Day, ladder: Sequence[tuple[str, Any]]) -> NotebookNode:
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
    from traitlets.config import Config

    notebook = solved_notebook(day)
    now = [0]

    def cell_begins(cell: NotebookNode, cell_index: int) -> None:
        now[0] = cell_index

    with tempfile.TemporaryDirectory(prefix="site-") as folder:
        place = Path(folder) / "work"
        _solve_earlier_days(day, place, dict(ladder))
        copy_figures(day, place / day.slug)
        startup = Path(folder) / "ipython" / "profile_default" / "startup"
        startup.mkdir(parents=True)
        (startup / "describe_plots.py").write_text(DESCRIBE_PLOTS, encoding="utf-8")
        environment = {**os.environ, "COURSE_WORK": str(place), "IPYTHONDIR": str(startup.parents[1])}
        resources = {"metadata": {"path": str(place / day.slug)}}
        # Sockets in a folder, not TCP ports: nobody else on the machine can talk to the kernel.
        config = Config({"KernelManager": {"transport": "ipc", "ip": str(Path(folder) / "kernel")}})
        client = NotebookClient(notebook, timeout=MAX_SECONDS, resources=resources, on_cell_start=cell_begins, config=config)
        start = time.monotonic()
        try:
            with ended_if_it_stalls(client):
                client.execute(env=environment)
        except CellExecutionError as error:
            raise CourseError(f"{_where(day, notebook, now[0])}: {error.ename}: {error.evalue}") from None
        except CellTimeoutError:
            raise CourseError(f"{_where(day, notebook, now[0])}: it has not ended after {MAX_SECONDS} s") from None
        except DeadKernelError:
            raise CourseError(f"{_where(day, notebook, now[0])}: its process ended") from None
        progress = desk.read_progress(place)
        standings = desk.standings(place)
    for number, cell in enumerate(notebook.cells):
        course = cell.metadata["course"]
        if course["role"] == "check" and not standings[f"{day.topic}/{course['exercise']}"].passed:
            raise CourseError(f"{_where(day, notebook, number)}: the course's own answer does not pass its checks here")
    mine = {name: rung for name, rung in progress.get("ladder", {}).items() if name not in dict(ladder)}
    notebook.metadata["site"] = {
        "ladder": mine,
        "seconds": round(time.monotonic() - start, 1),
        "peak_bytes": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024,  # of all notebooks that this process has run
        "machine": machine_name(),
        "threads": int(os.environ.get("OMP_NUM_THREADS") or torch.get_num_threads()),
        "date": time.strftime("%Y-%m-%d"),
    }
    return notebook


def with_outputs(notebook: NotebookNode, ran: NotebookNode) -> NotebookNode:
    """The notebook as its lesson is now, with the outputs of the run: the two may differ in their prose."""
    outputs = iter([cell for cell in ran.cells if cell.cell_type == "code"])
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = next(outputs).outputs
    notebook.metadata["site"] = ran.metadata["site"]
    notebook.metadata["widgets"] = ran.metadata.get("widgets", {})
    return notebook


def _solve_earlier_days(day: Day, place: Path, ladder: dict[str, Any]) -> None:
    """Earlier days' notebooks, and a record that says that they pass: certification sees to that, not the site."""
    progress: dict[str, Any] = {"exercises": {}, "notebooks": {}, "ladder": ladder}
    for earlier in syllabus(day.root):
        if earlier.number < day.number and earlier.ready:
            content = as_bytes(solved_notebook(earlier))
            write_if_changed(place / earlier.slug / f"{earlier.slug}.ipynb", content)
            progress["notebooks"][earlier.topic] = {"sha256": hashlib.sha256(content).hexdigest(), "passed": True}
            for exercise in lesson(earlier).exercises:
                points = {"points": exercise.points, "max_points": exercise.points, "passed": True, "when": time.time()}
                progress["exercises"][f"{earlier.topic}/{exercise.name}"] = points
    place.mkdir(parents=True, exist_ok=True)
    (place / desk.PROGRESS).write_text(json.dumps(progress), encoding="utf-8")


def _where(day: Day, notebook: NotebookNode, number: int) -> str:
    cell = notebook.cells[number]
    first = next((line.strip() for line in cell.source.split("\n") if line.strip()), "")
    return f"{day.slug}, cell {number + 1} ({cell.metadata['course']['role']}, `{first[:60]}`)"
