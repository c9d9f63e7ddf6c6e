"""Solved notebooks with their outputs.

Each notebook runs once for the site and the tests, and is cached until something changes that its outputs depend on.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nbformat
import torch
from IPython.core.inputtransformer2 import TransformerManager
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from autograder.base import cache
from autograder.base.datafiles import hand_computed
from autograder.base.errors import CourseError
from autograder.base.imports import imported_files, kit_files, names_imported
from autograder.checking.runner import load_checks
from autograder.grading.records import machine_name
from autograder.grading.verdict_inputs import meaning
from autograder.lessons import Day, lesson, solved_notebook, syllabus
from autograder.lessons.notebooks import as_bytes, copy_figures, write_if_changed
from autograder.notebook import workspace
from autograder.notebook.earlier import SAVED
from course.kit import paths

if TYPE_CHECKING:
    import psutil
    from nbclient import NotebookClient
    from nbformat import NotebookNode

KIND = "executed"
"""The kind of cache entry."""
FORM = 5
"""The format of a run's metadata; runs of another format are not read."""
MAX_SECONDS = 600
"""The limit for one cell; a machine may be slow, but a build must end."""

STALL_SECONDS = 60.0
STALL_PROCESSOR_SECONDS = 0.5
"""The least processor time of a kernel within STALL_SECONDS while a cell is expected to run.

Below it, the request or the answer was lost, and the build would wait for MAX_SECONDS (seen once, with ipykernel 7.4). The kernel is
ended, and the notebook run again.
"""
ATTEMPTS = 3

# Runs in the kernel before the first cell. A plot needs alternative text: its own titles and labels.
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


def executed(days: Sequence[Day], *, at_once: int = 1, say: Callable[[str], None] = print) -> dict[str, NotebookNode]:
    """Return {slug: the solved notebook with outputs}, the days in order. Days that are not cached run, `at_once` at a time.

    Raises CourseError, with the day and the cell, if a cell fails or a check does not pass; such a run is not cached. If two processes need
    the same day, one runs it and the other waits.
    """
    # Not in the threads: two at once in Python's own parser can end in a SystemError (Python 3.11).
    keys = {day.slug: key(day, days) for day in days}
    asked: dict[str, Future[NotebookNode]] = {}
    stop = threading.Event()

    def one(day: Day) -> NotebookNode:
        before = [asked[other.slug].result().metadata["site"] for other in needed(day, days)[:-1] if other.slug in asked]
        ran = _cached_or_run(day, keys[day.slug], before, stop, bars)
        bars.day_done()
        return with_outputs(solved_notebook(day), ran)

    def or_stop(day: Day) -> NotebookNode:
        try:
            return one(day)
        except BaseException:
            stop.set()
            raise

    with Bars(say) as bars, ThreadPoolExecutor(at_once) as kernels:
        bars.days(len(days))
        for day in days:  # in order, so that a day that another one waits for is already running
            asked[day.slug] = kernels.submit(or_stop, day)
        try:
            return {slug: notebook.result() for slug, notebook in asked.items()}
        except KeyboardInterrupt:
            stop.set()
            _end_kernels()
            raise


def _cached_or_run(day: Day, key: str, before: Sequence[Mapping[str, Any]], stop: threading.Event, bars: Bars) -> NotebookNode:
    """Return the day's notebook from the cache, or run and cache it. Raises CourseError, even if only another day has failed."""
    with cache.alone(KIND, day.slug):
        if stored := cache.load(KIND, day.slug, key):
            return nbformat.reads(stored.decode(), as_version=4)
        if stop.is_set():
            raise CourseError(f"{day.slug}: not run, because another day failed")
        bars.say(f"{day.slug}: running its notebook")
        ran = run(day, before, bars)
        bars.say(f"{day.slug}: {ran.metadata['site']['seconds']:.0f} s")
        cache.store(KIND, day.slug, key, as_bytes(ran))
        return ran


def _end_kernels() -> None:
    """Kill all kernels, so a stopped build does not wait for running notebooks."""
    import psutil

    for child in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            if "ipykernel_launcher" in child.cmdline():
                child.kill()


def needed(day: Day, days: Sequence[Day]) -> list[Day]:
    """Return the days to execute for this one: the day itself and, if it shows the ladder, the earlier days that set a rung."""
    earlier = [other for other in days if other.number < day.number and _uses(other, "rung(")]
    return [*(earlier if _uses(day, "rung(", "progress(") else []), day]


def key(day: Day, days: Sequence[Day]) -> str:
    """Return a digest of everything that the outputs depend on: code cells, answers so far, checks, kit, imports, the model, torch.

    Prose and comments do not count, nor do parts of the kit or the engine that no cell, check or answer of this day imports.
    """
    cells = [cell.source for cell in solved_notebook(day).cells if cell.cell_type == "code"]
    parts: list[Any] = [FORM, torch.__version__, paths.SMOLLM2.is_file(), DESCRIBE_PLOTS, *cells]
    parts += [hand_computed(day.topic), sum(check.hidden for check in load_checks(day.topic))]
    imported = imports_of(cells)
    files = set(imported_files(day.root, ["autograder.student", f"autograder.checking.checks.test_{day.topic}"]))
    answers = [other.solutions_path for other in syllabus(day.root) if other.number <= day.number]
    files |= {path.relative_to(day.root) for path in answers if path.exists()}
    files |= imported_files(day.root, [name for name in imported if name.startswith("solutions.engine")], package="solutions")
    files |= kit_files(day.root, files, imported)
    parts += [meaning(path, (day.root / path).read_bytes()) for path in sorted(files)]
    parts += [other.slug for other in needed(day, days)]
    return cache.key(parts)


def imports_of(cells: Sequence[str]) -> list[str]:
    """Return the names in these cells' imports, which may be modules. Lines that only IPython reads, such as magics, are ignored."""
    plain = TransformerManager().transform_cell
    return [name for cell in cells for name in names_imported(plain(cell), "")]


def _uses(day: Day, *calls: str) -> bool:
    return any(call in cell.source for cell in lesson(day).cells if cell.role == "demo" for call in calls)


class Stalled(Exception):
    """The error of a kernel that did nothing while a cell was expected to run; the message names the cell."""


class Peak:
    """The maximum memory of a client's kernel, or of one of its child processes that existed when a cell ended.

    Each process is measured separately, because the system's figure for a child starts at its parent's.
    """

    def __init__(self, client: NotebookClient) -> None:
        self.client, self.bytes = client, 0
        client.on_cell_complete = self.look

    def look(self, **ignored: Any) -> None:
        self.bytes = max([self.bytes, *(high_water(each.pid) for each in processes_of(self.client))])


def processes_of(client: NotebookClient) -> list[psutil.Process]:
    """Return a client's kernel and its child processes; none if the kernel has not started or has ended."""
    import psutil

    provisioner: Any = getattr(client.km, "provisioner", None)
    with contextlib.suppress(psutil.Error, AttributeError):
        kernel = psutil.Process(provisioner.pid)
        return [kernel, *kernel.children(recursive=True)]
    return []


def high_water(pid: int) -> int:
    """Return a process's maximum memory in bytes; 0 for a process that is gone."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) * 1024
    return 0


@contextmanager
def ended_if_it_stalls(client: NotebookClient) -> Iterator[None]:
    """Kill the client's kernel if it is idle for STALL_SECONDS, and raise Stalled instead of the resulting exception."""
    import psutil

    done, stalled = threading.Event(), threading.Event()

    def watch() -> None:
        since, used = time.monotonic(), -math.inf  # the first look begins the count
        while not done.wait(1.0):
            if not (processes := processes_of(client)):
                continue
            with contextlib.suppress(psutil.Error):  # gone meanwhile
                now = sum(sum(each.cpu_times()[:2]) for each in processes)
                if abs(now - used) > STALL_PROCESSOR_SECONDS:  # less, where a child has ended
                    since, used = time.monotonic(), now
                elif time.monotonic() - since > STALL_SECONDS:
                    stalled.set()
                    processes[0].kill()
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


def run(day: Day, before: Sequence[Mapping[str, Any]], bars: Bars) -> NotebookNode:
    """Run the day's solved notebook in a workspace where all earlier days are solved, and return it. Raises CourseError.

    before: what runs of earlier days left (`metadata["site"]`): rungs of the ladder, and verdicts on earlier functions.
    """
    for _ in range(ATTEMPTS):
        begin = time.monotonic()
        try:
            return run_once(day, before, bars)
        except Stalled as stalled:
            lost = time.monotonic() - begin
            bars.say(f"{stalled}: its kernel did nothing for {STALL_SECONDS:.0f} s and was ended; {lost:.0f} s are lost")
    raise CourseError(f"{day.slug}: {ATTEMPTS} kernels stopped answering; build again when the machine is less busy")


def run_once(day: Day, before: Sequence[Mapping[str, Any]], bars: Bars) -> NotebookNode:
    """Run the day's solved notebook once. Return it with its outputs and the run's circumstances. Raises CourseError, Stalled."""
    notebook = solved_notebook(day)
    with tempfile.TemporaryDirectory(prefix="site-") as folder:
        place = Path(folder) / "work"
        left = left_by(before)
        _solve_earlier_days(day, place, left)
        copy_figures(day, place / day.slug)
        environment = {**os.environ, "COURSE_WORK": str(place), "IPYTHONDIR": str(_ipython_folder(Path(folder)))}
        client = _client(notebook, place / day.slug, kernel=Path(folder) / "kernel")
        peak = Peak(client)
        start = time.monotonic()
        _run_cells(client, day, environment, bars)
        progress = workspace.read_progress(place)
        standings = workspace.standings(place)
    _require_passed(day, notebook, standings)
    notebook.metadata["site"] = {
        "ladder": {name: rung for name, rung in progress.get("ladder", {}).items() if name not in left["ladder"]},
        SAVED: progress.get(SAVED, {}),
        "seconds": round(time.monotonic() - start, 1),
        "peak_bytes": peak.bytes,
        "machine": machine_name(),
        "threads": int(os.environ.get("OMP_NUM_THREADS") or torch.get_num_threads()),
        "date": time.strftime("%Y-%m-%d"),
    }
    return notebook


def left_by(before: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the entries of a workspace's record that earlier runs left: the ladder, and the verdicts on earlier functions by topic."""
    ladder: dict[str, Any] = {}
    verdicts: dict[str, dict[str, str]] = {}
    for run in before:
        ladder |= run["ladder"]
        for topic, found in run[SAVED].items():
            verdicts.setdefault(topic, {}).update(found)
    return {"ladder": ladder, SAVED: verdicts}


def _ipython_folder(folder: Path) -> Path:
    """Write the settings of the kernel's IPython and a file that runs before the first cell; return their folder."""
    ipython = folder / "ipython"
    startup = ipython / "profile_default" / "startup"
    startup.mkdir(parents=True)
    (startup / "describe_plots.py").write_text(DESCRIBE_PLOTS, encoding="utf-8")
    return ipython


def _client(notebook: NotebookNode, place: Path, *, kernel: Path) -> NotebookClient:
    """Return a client that runs a notebook in the folder `place`, with its kernel's sockets beside the path `kernel`."""
    from nbclient import NotebookClient
    from traitlets.config import Config

    # Sockets in a folder, not TCP ports: nobody else on the machine can talk to the kernel.
    config = Config({"KernelManager": {"transport": "ipc", "ip": str(kernel)}})
    return NotebookClient(notebook, timeout=MAX_SECONDS, resources={"metadata": {"path": str(place)}}, config=config)


def _run_cells(client: NotebookClient, day: Day, environment: dict[str, str], bars: Bars) -> None:
    """Run all cells. Raises CourseError or Stalled, with the cell that failed."""
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    now = 0

    def cell_begins(cell: NotebookNode, cell_index: int) -> None:
        nonlocal now
        now = cell_index
        bars.at(day.slug, cell_index + 1, len(client.nb.cells))

    client.on_cell_start = cell_begins
    try:
        with ended_if_it_stalls(client):
            client.execute(env=environment)
    except Stalled:
        raise Stalled(_where(day, client.nb, now)) from None
    except CellExecutionError as error:
        raise CourseError(f"{_where(day, client.nb, now)}: {error.ename}: {error.evalue}") from None
    except CellTimeoutError:
        raise CourseError(f"{_where(day, client.nb, now)}: it has not ended after {MAX_SECONDS} s") from None
    except DeadKernelError:
        raise CourseError(f"{_where(day, client.nb, now)}: its process ended") from None
    finally:
        bars.ended(day.slug)


def _require_passed(day: Day, notebook: NotebookNode, standings: Mapping[str, Any]) -> None:
    """Raise CourseError if a check in the notebook did not pass."""
    for number, cell in enumerate(notebook.cells):
        course = cell.metadata["course"]
        if course["role"] == "check" and not standings[f"{day.topic}/{course['exercise']}"].passed:
            shown = "\n".join(str(o.get("data", {}).get("text/plain") or o.get("text", "")) for o in cell.outputs)
            raise CourseError(f"{_where(day, notebook, number)}: the reference solution does not pass its checks here\n{shown}")


class Bars:
    """Progress bars on a terminal: one for the days, and one for each running notebook. Other lines are printed above the bars."""

    def __init__(self, say: Callable[[str], None], console: Console | None = None) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        console = console or Console()
        self._bars = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
        self.say = say
        self._days: TaskID | None = None
        self._cells: dict[str, TaskID] = {}

    def __enter__(self) -> Bars:
        self._bars.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._bars.stop()

    def days(self, total: int) -> None:
        self._days = self._bars.add_task("days", total=total)

    def day_done(self) -> None:
        if self._days is not None:
            self._bars.advance(self._days)

    def at(self, slug: str, cell: int, cells: int) -> None:
        if slug not in self._cells:
            self._cells[slug] = self._bars.add_task(f"{slug}, cells", total=cells)
        self._bars.update(self._cells[slug], completed=cell)

    def ended(self, slug: str) -> None:
        if slug in self._cells:
            self._bars.remove_task(self._cells.pop(slug))


def with_outputs(notebook: NotebookNode, ran: NotebookNode) -> NotebookNode:
    """Return the current notebook with the outputs of a run. The notebook that ran may have had other prose."""
    outputs = iter([cell for cell in ran.cells if cell.cell_type == "code"])
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = next(outputs).outputs
    notebook.metadata["site"] = ran.metadata["site"]
    notebook.metadata["widgets"] = ran.metadata.get("widgets", {})
    return notebook


def _solve_earlier_days(day: Day, place: Path, left: dict[str, Any]) -> None:
    """Write earlier days' solved notebooks and a record that they pass. Certification verifies that; the site does not.

    left: what earlier runs left in the record, from `left_by`.
    """
    progress: dict[str, Any] = {"exercises": {}, "notebooks": {}, **left}
    for earlier in syllabus(day.root):
        if earlier.number < day.number and earlier.ready:
            content = as_bytes(solved_notebook(earlier))
            write_if_changed(place / earlier.slug / f"{earlier.slug}.ipynb", content)
            progress["notebooks"][earlier.topic] = {"sha256": hashlib.sha256(content).hexdigest(), "passed": True}
            for exercise in lesson(earlier).exercises:
                points = {"points": exercise.points, "max_points": exercise.points, "passed": True, "when": time.time()}
                progress["exercises"][f"{earlier.topic}/{exercise.name}"] = points
    place.mkdir(parents=True, exist_ok=True)
    (place / workspace.PROGRESS).write_text(json.dumps(progress), encoding="utf-8")


def _where(day: Day, notebook: NotebookNode, number: int) -> str:
    cell = notebook.cells[number]
    first = next((line.strip() for line in cell.source.split("\n") if line.strip()), "")
    return f"{day.slug}, cell {number + 1} ({cell.metadata['course']['role']}, `{first[:60]}`)"
