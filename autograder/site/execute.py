"""Solved notebooks with their outputs, executed once: the site shows what the tests look at, whichever of them comes first.

A day is run again only when something that its outputs come from has changed. Runs on a machine that did nothing else are kept with the
course, in `docs/executed/`: what they measured is shown, and who builds the site or tests the course need not run them. `python -m
autograder.site.execute` runs what is not kept.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import hashlib
import json
import math
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Container, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import torch
from IPython.core.inputtransformer2 import TransformerManager

from autograder import desk
from autograder.certified import what_counts
from autograder.datafiles import hand_computed
from autograder.errors import CourseError
from autograder.grading.records import machine_name
from autograder.imports import imported_files, kit_files, names_imported
from autograder.lessons import ROOT, Day, lesson, solved_notebook, syllabus
from autograder.lessons.notebooks import as_bytes, copy_figures, write_if_changed
from autograder.runner import load_checks
from course.kit import paths

if TYPE_CHECKING:
    import psutil
    from nbclient import NotebookClient
    from nbformat import NotebookNode

CACHE = ROOT / "build" / "executed"
KEPT = ROOT / "docs" / "executed"
"""Committed: runs with nothing beside them."""
FORM = 3
"""Of what is noted of a run; what was noted otherwise is not read."""
MAX_SECONDS = 600
"""For one cell; a machine may be slow, but a build must end."""

QUIET = 0.1
"""A run is kept with the course if all others together took at most this share of the machine's processors meanwhile."""

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
    days: Sequence[Day],
    cache: Path = CACHE,
    *,
    kept: Path | None = None,
    anew: Container[str] = (),
    at_once: int = 1,
    say: Callable[[str], None] = print,
) -> dict[str, NotebookNode]:
    """{slug: the solved notebook with outputs}, the days in order. What is neither in the cache nor kept with the course is run and put
    into the cache, `at_once` days at a time; anew: slugs of days that are run though the course has kept them.

    Raises CourseError, with the day and the cell, where a cell fails or a check does not pass; such a run goes nowhere. Where two
    processes want the same day, one runs it and the other waits.
    """
    import nbformat

    def one(day: Day) -> NotebookNode:
        name = names[day.slug]
        before = [asked[other.slug].result().metadata["site"]["ladder"] for other in needed(day, days)[:-1] if other.slug in asked]
        with alone(cache / f".{day.slug}.lock"):
            places = [cache / name, *([kept / name] if kept is not None and day.slug not in anew else [])]
            found = next((path for path in places if path.exists()), None)
            if found is not None:
                ran = nbformat.read(found, as_version=4)
            elif stop.is_set():
                raise CourseError(f"{day.slug}: not run, for another day failed")
            else:
                say(f"{day.slug}: running its notebook")
                ran = run(day, [rung for ladder in before for rung in ladder.items()], say)
                say(f"{day.slug}: {ran.metadata['site']['seconds']:.0f} s")
                put(day, cache / name, ran)
        return with_outputs(solved_notebook(day), ran)

    def or_stop(day: Day) -> NotebookNode:
        try:
            return one(day)
        except BaseException:
            stop.set()
            raise

    # Not in the threads: two at once in Python's own parser can end in a SystemError (Python 3.11).
    names = {day.slug: f"{day.slug}-{key(day, days)}.ipynb" for day in days}
    asked: dict[str, Future[NotebookNode]] = {}
    stop = threading.Event()
    say = counter.above(say)
    with ThreadPoolExecutor(at_once) as kernels:
        for day in days:  # in order, so that whom a day waits for is already running
            asked[day.slug] = kernels.submit(or_stop, day)
        try:
            return {slug: notebook.result() for slug, notebook in asked.items()}
        except KeyboardInterrupt:
            stop.set()
            _end_kernels()
            raise


def put(day: Day, path: Path, ran: NotebookNode) -> None:
    """In place of earlier runs of the day."""
    for old in path.parent.glob(f"{day.slug}-*.ipynb"):
        old.unlink()
    write_if_changed(path, as_bytes(ran))


def keep(days: Sequence[Day], kept: Path = KEPT, say: Callable[[str], None] = print) -> list[str]:
    """Runs the days that are not kept with the course, one after another with all processors, and keeps them. Returns what could not be."""
    busy = []
    with tempfile.TemporaryDirectory(prefix="runs-") as runs:
        for day in days:
            path = kept / f"{day.slug}-{key(day, days)}.ipynb"
            if path.exists():
                continue
            ran = executed(needed(day, days), Path(runs), kept=kept, anew={day.slug}, say=say)[day.slug]
            beside = ran.metadata["site"]["beside"]
            if beside <= QUIET:
                put(day, path, ran)
            else:
                busy.append(f"{day.slug}: not kept, for others took {beside:.0%} of the processors meanwhile")
    return busy


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


def key(day: Day, days: Sequence[Day], cells: Sequence[str] | None = None) -> str:
    """Changes with whatever the outputs depend on: code cells, answers so far, checks, kit, what notebooks import, the model, torch.

    cells: those of the solved notebook, or of another one of the day.

    Prose does not count, nor does a comment, nor what of the kit or the engine no cell, check or answer of this day imports.
    """
    if cells is None:
        cells = [cell.source for cell in solved_notebook(day).cells if cell.cell_type == "code"]
    parts: list[Any] = [FORM, torch.__version__, paths.SMOLLM2.is_file(), DESCRIBE_PLOTS, *cells]
    parts += [hand_computed(day.topic), sum(check.hidden for check in load_checks(day.topic))]
    imported = imports_of(cells)
    files = set(imported_files(day.root, ["autograder.student", f"autograder.checks.test_{day.topic}"]))
    answers = [other.solutions_path for other in syllabus(day.root) if other.number <= day.number]
    files |= {path.relative_to(day.root) for path in answers if path.exists()}
    files |= imported_files(day.root, [name for name in imported if name.startswith("solutions.engine")], package="solutions")
    files |= kit_files(day.root, files, imported)
    parts += [what_counts(day.root / path) for path in sorted(files)]
    parts += [other.slug for other in needed(day, days)]
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def imports_of(cells: Sequence[str]) -> list[str]:
    """Names that may be modules, of what these cells import; a line for IPython alone, as a magic, imports nothing."""
    plain = TransformerManager().transform_cell
    return [name for cell in cells for name in names_imported(plain(cell), "")]


def _uses(day: Day, *calls: str) -> bool:
    return any(call in cell.source for cell in lesson(day).cells if cell.role == "demo" for call in calls)


class Stalled(Exception):
    """A kernel that did nothing while a cell was due; its words say which."""


class Peak:
    """The most memory that a client's kernel has had, or one of the processes begun by it that were there when a cell ended.

    Each tells of itself: what the system tells of a child begins with what its parent had.
    """

    def __init__(self, client: NotebookClient) -> None:
        self.client, self.bytes = client, 0
        client.on_cell_complete = self.look

    def look(self, **ignored: Any) -> None:
        self.bytes = max([self.bytes, *(high_water(each.pid) for each in processes_of(self.client))])


def processes_of(client: NotebookClient) -> list[psutil.Process]:
    """A client's kernel and what that has begun; none where it is not there yet, or gone."""
    import psutil

    provisioner: Any = getattr(client.km, "provisioner", None)
    with contextlib.suppress(psutil.Error, AttributeError):
        kernel = psutil.Process(provisioner.pid)
        return [kernel, *kernel.children(recursive=True)]
    return []


def high_water(pid: int) -> int:
    """Bytes; 0 for a process that is gone."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) * 1024
    return 0


@contextmanager
def ended_if_it_stalls(client: NotebookClient) -> Iterator[None]:
    """Ends the client's kernel if it does nothing for STALL_SECONDS, and then raises Stalled instead of what came of that."""
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


def run(day: Day, ladder: Sequence[tuple[str, Any]] = (), say: Callable[[str], None] = print) -> NotebookNode:
    """The day's solved notebook, run at the desk of a student who has solved all earlier days. Raises CourseError."""
    for _ in range(ATTEMPTS):
        begin = time.monotonic()
        try:
            return run_once(day, ladder)
        except Stalled as stalled:
            say(f"{stalled}: its kernel did nothing for {STALL_SECONDS:.0f} s and was ended; {time.monotonic() - begin:.0f} s are lost")
    raise CourseError(f"{day.slug}: {ATTEMPTS} kernels stopped answering; build again when the machine is less busy")


def run_once(day: Day, ladder: Sequence[tuple[str, Any]]) -> NotebookNode:
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
    from traitlets.config import Config

    notebook = solved_notebook(day)
    now = [0]

    def cell_begins(cell: NotebookNode, cell_index: int) -> None:
        now[0] = cell_index
        counter.at(day.slug, cell_index + 1, len(notebook.cells))

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
        peak = Peak(client)
        start = time.monotonic()
        try:
            with Others() as others, ended_if_it_stalls(client):
                client.execute(env=environment)
        except Stalled:
            raise Stalled(_where(day, notebook, now[0])) from None
        except CellExecutionError as error:
            raise CourseError(f"{_where(day, notebook, now[0])}: {error.ename}: {error.evalue}") from None
        except CellTimeoutError:
            raise CourseError(f"{_where(day, notebook, now[0])}: it has not ended after {MAX_SECONDS} s") from None
        except DeadKernelError:
            raise CourseError(f"{_where(day, notebook, now[0])}: its process ended") from None
        finally:
            counter.done(day.slug)
        progress = desk.read_progress(place)
        standings = desk.standings(place)
    for number, cell in enumerate(notebook.cells):
        course = cell.metadata["course"]
        if course["role"] == "check" and not standings[f"{day.topic}/{course['exercise']}"].passed:
            shown = "\n".join(str(o.get("data", {}).get("text/plain") or o.get("text", "")) for o in cell.outputs)
            raise CourseError(f"{_where(day, notebook, number)}: the course's own answer does not pass its checks here\n{shown}")
    mine = {name: rung for name, rung in progress.get("ladder", {}).items() if name not in dict(ladder)}
    notebook.metadata["site"] = {
        "ladder": mine,
        "seconds": round(time.monotonic() - start, 1),
        "peak_bytes": peak.bytes,
        "machine": machine_name(),
        "beside": round(others.share(), 3),
        "threads": int(os.environ.get("OMP_NUM_THREADS") or torch.get_num_threads()),
        "date": time.strftime("%Y-%m-%d"),
    }
    return notebook


class Counter:
    """Which cell of each notebook runs, in one line at the end of what is on the screen; nothing where nobody looks."""

    def __init__(self, out: TextIO = sys.stderr) -> None:
        self.out, self._at, self._lock = out, dict[str, str](), threading.Lock()

    def at(self, slug: str, cell: int, cells: int) -> None:
        with self._lock:
            self._at[slug] = f"{slug}: cell {cell} of {cells}"
            self._show()

    def done(self, slug: str) -> None:
        with self._lock:
            self._at.pop(slug, None)
            self._show()

    def above(self, say: Callable[[str], None]) -> Callable[[str], None]:
        """`say`, with this line below what it says."""

        def said(line: str) -> None:
            with self._lock:
                if self._at and self.out.isatty():
                    print("\r\x1b[K", end="", file=self.out, flush=True)
                say(line)
                self._show()

        return said

    def _show(self) -> None:
        if self.out.isatty():
            print(f"\r\x1b[K{'   '.join(self._at.values())}", end="", file=self.out, flush=True)


counter = Counter()


class Others:
    """What others than this process and its children take of the processors, from now on until it is asked.

    A child's time counts as it was last seen: a zygote does not wait for its workers, so their time is in nobody's sum once they end.
    """

    EVERY_SECONDS = 0.05

    def __init__(self) -> None:
        self._seen: dict[tuple[int, float], float] = {}
        """{process: its own seconds}."""
        self._start, self._over = self._now(), threading.Event()

    def __enter__(self) -> Others:
        """Looks at the children now and then, until the block ends."""
        self._looks = threading.Thread(target=self._look, daemon=True)
        self._looks.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._looks.join()

    def share(self) -> float:
        """0 to 1; of all processors together."""
        all_before, busy_before, mine_before = self._start
        everything, busy, mine = self._now()
        return min(1.0, max(0.0, (busy - busy_before) - (mine - mine_before)) / max(everything - all_before, 1e-9))

    def _look(self) -> None:
        while not self._over.wait(self.EVERY_SECONDS):
            self._see()

    def _see(self) -> None:
        import psutil

        for child in psutil.Process().children(recursive=True):
            with contextlib.suppress(psutil.Error):
                self._seen[child.pid, child.create_time()] = sum(child.cpu_times()[:2])

    def _now(self) -> tuple[float, float, float]:
        """Seconds of all processors, those in which they worked, and those in which they did so for this process and what it started."""
        import psutil

        times = psutil.cpu_times()
        idle = times.idle + getattr(times, "iowait", 0.0)
        everything = sum(times[:8])  # what guests took is in the user's share already
        self._see()
        return everything, everything - idle, sum(os.times()[:2]) + sum(self._seen.values())


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


def main() -> int:
    argparse.ArgumentParser(description="Run the solved notebooks whose runs are not kept, and keep these.").parse_args()
    busy = keep([day for day in syllabus() if day.ready])
    print(*busy, sep="\n", file=sys.stderr)
    return 1 if busy else 0


if __name__ == "__main__":
    sys.exit(main())
