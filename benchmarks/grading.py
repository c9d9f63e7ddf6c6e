"""The same submissions through stock `nbgrader autograde`, through our nbgrader path and through our bulk path.

python benchmarks/grading.py --count 20 200 2000     # writes benchmarks/results/grading.md and its data, in about ten minutes
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common import ROOT, processor, save

if TYPE_CHECKING:
    from autograder.lessons import Day

sys.path.insert(0, str(ROOT))
PATHS = {"stock": "stock nbgrader", "nbgrader": "ours, through nbgrader", "bulk": "ours, in bulk"}
STUDENTS = ("ada", "bela", "chidi", "dara", "emeka", "fatima")
COUNTED = """\
The submissions are six of the demo's class, over and over: two right ones, three wrong ones, one untouched. None of them hangs or
crashes: stock nbgrader would wait half a minute for each that does, and is spared that. For stock nbgrader the day's notebook holds
only its setup cell, the exercises and, for each exercise, one grade cell of ordinary asserts; the demo cells, which it would run too,
are left out in its favour. Ours runs all visible and hidden checks of the day. Each path runs in a process of its own, one after the
other on the same machine; stock nbgrader at the beginning and again at the end, and "times as fast" is against the mean of both.

- s a submission: from the first submission to the last, gradebook and graded notebooks written, divided by their number; ours includes
  its canaries. The start (imports, for ours also the warm process that workers are forked from) is in a column of its own.
- processor s a submission: what the grader used, with all its threads, and what the workers used (for stock nbgrader: its kernels).
  From 100 submissions on ours starts a second grader; what these processes use is not seen from the one that measures.
- peak memory: the largest proportional set sizes seen, looked at once a second: of the grader, of one worker (or kernel), of
  everything together, the warm process included.
- load before: the system's load average of the last minute, just before the path began: what else kept the machine busy."""
ASSERTS = {
    "softmax": """\
logits = torch.tensor([2.0, -1.5, 0.3, 4.2, -0.8])
assert torch.allclose(softmax(logits), torch.softmax(logits, -1), atol=1e-5)
assert torch.allclose(softmax(logits + 1000), torch.softmax(logits, -1), atol=1e-4)
assert torch.allclose(softmax(torch.tensor([0.0, float("-inf"), 0.0])), torch.tensor([0.5, 0.0, 0.5]))
for seed in range(20):
    rows = 5 * torch.randn(3, 4, 11, generator=torch.Generator().manual_seed(seed))
    assert torch.allclose(softmax(rows), torch.softmax(rows, -1), atol=1e-5)
    assert torch.allclose(softmax(rows).sum(-1), torch.ones(3, 4), atol=1e-5)
assert softmax(logits.double()).dtype == torch.float64
""",
    "log_softmax": """\
logits = torch.tensor([2.0, -1.5, 0.3, 4.2, -0.8])
assert torch.allclose(log_softmax(logits), torch.log_softmax(logits, -1), atol=1e-5)
assert torch.allclose(log_softmax(torch.tensor([0.0, 300.0])), torch.tensor([-300.0, 0.0]))
for seed in range(20):
    rows = 5 * torch.randn(3, 4, 11, generator=torch.Generator().manual_seed(seed))
    assert torch.allclose(log_softmax(rows), torch.log_softmax(rows, -1), atol=1e-5)
assert log_softmax(logits.double()).dtype == torch.float64
""",
    "entropy": """\
assert abs(float(entropy(torch.full((8,), 0.125))) - math.log(8)) < 1e-5
assert abs(float(entropy(torch.tensor([1.0, 0.0, 0.0])))) < 1e-6
for seed in range(20):
    rows = torch.softmax(torch.randn(3, 4, 11, generator=torch.Generator().manual_seed(seed)), -1)
    assert torch.allclose(entropy(rows), -(rows * rows.log()).sum(-1), atol=1e-5)
""",
}


def contents() -> dict[str, str]:
    from autograder.demo.demo import samples
    from autograder.lessons import find_day

    return {sample.student: sample.content for sample in samples(find_day("softmax")) if sample.student in STUDENTS}


def for_stock(text: str) -> str:
    notebook = json.loads(text)
    notebook["cells"] = [c for c in notebook["cells"] if c["metadata"].get("course", {}).get("role") in ("setup", "exercise", "check")]
    for cell in notebook["cells"]:
        if cell["metadata"]["course"]["role"] == "check":
            cell["source"] = ASSERTS[cell["metadata"]["course"]["exercise"]]
    return json.dumps(notebook)


def make_class(folder: Path, slug: str, count: int, *, stock: bool) -> None:
    made = {student: for_stock(text) if stock else text for student, text in contents().items()}
    for number, student in enumerate(islice(cycle(STUDENTS), count)):
        path = folder / "submitted" / f"{student}{number:05d}" / slug / f"{slug}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_text(made[student], encoding="utf-8")


def once(path: str, folder: Path, count: int, jobs: int) -> dict[str, Any]:
    """Grade one class in this process. path: one of PATHS, the ways to grade."""
    from autograder.grading.executors.processes import WORTH_IT
    from autograder.lessons import find_day

    day = find_day("softmax")
    make_class(folder, day.slug, count, stock=path == "stock")
    start = time.perf_counter()
    os.chdir(folder)
    run = graded_by_stock(day, folder) if path == "stock" else graded_by_ours(day, folder, jobs, in_bulk=path == "bulk")
    assert len(run.scores) == count, (len(run.scores), count)
    seen = path == "stock" or count < WORTH_IT  # else other processes graded, too: their time was not seen from here
    return {
        "start_seconds": run.begin - start,
        "seconds": run.seconds,
        "isolation": run.isolation,
        "stored": len(run.scores),
        "full_marks": sum(score == max(run.scores.values()) for score in run.scores.values()),
        "grader_processor_seconds": run.grader_seconds if seen else None,
        "worker_processor_seconds": run.worker_seconds if seen else None,
    }


@dataclass(frozen=True)
class Run:
    """The measurements of one way to grade. begin: the start on time.perf_counter's clock. scores: {student: score} of the gradebook."""

    begin: float
    seconds: float
    grader_seconds: float
    worker_seconds: float
    isolation: str
    scores: dict[str, float]


def graded_by_stock(day: Day, folder: Path) -> Run:
    """Grade the class with stock nbgrader."""
    from autograder.gradebook.books.gradebook import put_alembic_on_path

    put_alembic_on_path()
    from nbgrader.api import Gradebook
    from nbgrader.converters import Autograde
    from nbgrader.coursedir import CourseDirectory

    config = stock_course(day, folder)
    config.CourseDirectory.assignment_id = day.slug
    converter = Autograde(coursedir=CourseDirectory(config=config), config=config)
    begin, used = time.perf_counter(), time.process_time()
    converter.start()
    seconds, grader = time.perf_counter() - begin, time.process_time() - used
    kernels = sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])  # it has waited for them
    with Gradebook(config.CourseDirectory.db_url) as gradebook:
        scores = {s.student.id: s.score for s in gradebook.assignment_submissions(day.slug)}
    return Run(begin, seconds, grader, kernels, "no isolation", scores)


def stock_course(day: Day, folder: Path) -> Any:
    """Make stock nbgrader's course folder with its gradebook, and return its configuration."""
    from nbgrader.apps.api import NbGraderAPI
    from nbgrader.coursedir import CourseDirectory
    from traitlets.config import Config

    from autograder.lessons import release_notebook_path

    source = folder / "source" / day.slug / f"{day.slug}.ipynb"
    source.parent.mkdir(parents=True)
    source.write_text(for_stock(release_notebook_path(day).read_text(encoding="utf-8")), encoding="utf-8")
    config = Config()
    config.CourseDirectory.root = str(folder)
    config.CourseDirectory.db_url = f"sqlite:///{folder / 'gradebook.db'}"
    done = NbGraderAPI(CourseDirectory(config=config), config=config).generate_assignment(day.slug)
    assert done["success"], done
    return config


def graded_by_ours(day: Day, folder: Path, jobs: int, *, in_bulk: bool) -> Run:
    """Grade the class with our grader, which writes the gradebook itself in bulk, or by nbgrader's converters."""
    from autograder.gradebook.books.bulk import ClassFolder, booked_scores, store
    from autograder.gradebook.books.gradebook import enter_day
    from autograder.gradebook.books.writer import WriterThread
    from autograder.grading.executors.processes import Processes
    from autograder.grading.grade import Options
    from autograder.grading.run import grade_all
    from autograder.grading.tasks import find_tasks
    from autograder.sandbox.process import forkserver_pool

    place = ClassFolder.of(folder / "submitted")
    tasks = list(find_tasks(place.submitted, [day]))
    enter_day(day, place.db_url)
    level = forkserver_pool.level()
    workers = [0.0]
    count_workers(workers)
    begin, used = time.perf_counter(), time.process_time()
    if in_bulk:
        with WriterThread(place) as writer:
            grade_all(tasks, Options(jobs=jobs), place.records, progress=writer.of(tasks), executor=Processes("auto"))
        failures = writer.failures
    else:
        grade_all(tasks, Options(jobs=jobs), place.records, executor=Processes("auto"))
        failures = store(place, tasks)
    seconds, grader = time.perf_counter() - begin, time.process_time() - used
    assert not failures, failures
    scores = {student: score for (student, _), score in booked_scores(place, [day]).items()}
    return Run(begin, seconds, grader, workers[0], level, scores)


def count_workers(total: list[float]) -> None:
    """Add the processor time of each worker to total[0]. The kernel's figure is read as the worker ends."""
    from autograder.sandbox.confine.limits import cpu_seconds
    from autograder.sandbox.process.channel import WorkerChannel

    close, lock = WorkerChannel.close, threading.Lock()

    def counted(connection: Any) -> None:
        if connection.socket.fileno() != -1:
            with lock:
                total[0] += cpu_seconds(connection.pid) or 0.0
        close(connection)

    WorkerChannel.close = counted


def measure(path: str, count: int, jobs: int) -> dict[str, Any]:
    """Measure one way to grade in a fresh process, whose memory this process watches. path: one of PATHS."""
    with tempfile.TemporaryDirectory(prefix="benchmark-") as folder:
        command = [sys.executable, __file__, "--once", path, "--folder", folder, "--count", str(count), "--jobs", str(jobs)]
        load = os.getloadavg()[0]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        peak = dict.fromkeys(("grader", "worker", "all"), 0)
        watcher = threading.Thread(target=watch, args=(process, peak), daemon=True)
        watcher.start()
        printed, errors = process.communicate()
        if process.returncode:
            raise RuntimeError(errors[-3000:])
    row = json.loads(printed.splitlines()[-1])
    row |= {"path": path, "count": count, "seconds_per_submission": row["seconds"] / count}
    row |= {"peak_bytes": peak, "load_average_before": load}
    print(f"{PATHS[path]}, {count}: {row['seconds_per_submission']:.3f} s a submission, {peak['all'] / 1e6:.0f} MB", flush=True)
    return row


def watch(process: subprocess.Popen, peak: dict[str, int]) -> None:
    """Record the peak memory of the grader, of the largest process that runs a submission, and of all processes together."""
    import psutil

    while process.poll() is None:
        try:
            root = psutil.Process(process.pid)
            found = {root.pid: proportional_bytes(root.pid)}
            leaves = []
            for each in root.children(recursive=True):
                found[each.pid] = proportional_bytes(each.pid)
                with contextlib.suppress(psutil.NoSuchProcess):
                    if runs_a_submission(each):
                        leaves.append(found[each.pid])
        except psutil.NoSuchProcess:
            return
        for name, size in (("grader", found[process.pid]), ("worker", max(leaves, default=0)), ("all", sum(found.values()))):
            peak[name] = max(peak[name], size)
        time.sleep(1)


def runs_a_submission(process: Any) -> bool:
    """Return True for a worker, which has its fork server's command line, and for a kernel of stock nbgrader."""
    line, parent = process.cmdline(), process.parent()
    forked = parent is not None and parent.cmdline() == line
    return "ipykernel_launcher" in line or ("autograder.sandbox.process.forkserver" in line and forked)


def proportional_bytes(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0)


def report(rows: list[dict[str, Any]], machine_text: str) -> str:
    stock = [row["seconds_per_submission"] for row in rows if row["path"] == "stock"]
    heads = ["path", "submissions", "s a submission", "times as fast as stock", "processor s a submission: grader", "workers", "start, s"]
    heads += ["peak memory: grader, MB", "one worker, MB", "all, MB", "isolation", "load before"]
    lines = ["# Grading a class: seconds a submission", "", f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for row in rows:
        each, count = row["seconds_per_submission"], row["count"]
        cells = [PATHS[row["path"]], str(count), f"{each:.3f}", f"{sum(stock) / len(stock) / each:.1f}" if stock else ""]
        used = [row[name] for name in ("grader_processor_seconds", "worker_processor_seconds")]
        cells += ["not seen" if seconds is None else f"{seconds / count:.3f}" for seconds in used]
        cells += [f"{row['start_seconds']:.1f}", *(f"{row['peak_bytes'][name] / 1e6:.0f}" for name in ("grader", "worker", "all"))]
        cells += [row["isolation"], f"{row['load_average_before']:.1f}"]
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", *growth(rows), f"Machine: {machine_text}.", "", COUNTED, ""]
    return "\n".join(lines)


def growth(rows: list[dict[str, Any]]) -> list[str]:
    """Describe how time and memory grow from the smallest to the largest class of each way to grade."""
    lines = []
    for path in ("nbgrader", "bulk"):
        of_path = sorted((row for row in rows if row["path"] == path), key=lambda row: row["count"])
        if len(of_path) > 1:
            small, large = of_path[0], of_path[-1]
            times = large["seconds_per_submission"] / small["seconds_per_submission"]
            sizes = [f"{row['peak_bytes']['all'] / 1e6:.0f} MB" for row in of_path]
            lines += [f"{PATHS[path]}, {', '.join(str(row['count']) for row in of_path)} submissions: the time of one is {times:.2f} times "
                      f"that in the smallest class; memory {', '.join(sizes)}.", ""]  # fmt: skip
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, nargs="+", default=[20, 200, 2000], help="how many submissions our paths grade")
    parser.add_argument("--most-nbgrader", type=int, default=200, help="the largest class that goes through nbgrader's converters")
    parser.add_argument("--stock", type=int, default=20, help="how many stock nbgrader grades, twice; 0: none")
    parser.add_argument("--jobs", type=int, default=0)
    parser.add_argument("--note", default="", help="what else is to be said of the circumstances")
    parser.add_argument("--once", choices=PATHS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.once:
        print(json.dumps(once(arguments.once, arguments.folder, arguments.count[0], arguments.jobs)))
        return 0
    text = f"{processor()}, {platform.system()}, Python {platform.python_version()}" + (f"; {arguments.note}" if arguments.note else "")
    rows: list[dict[str, Any]] = []
    ours = [(path, count) for count in arguments.count for path in ("nbgrader", "bulk")]
    ours = [(path, count) for path, count in ours if path == "bulk" or count <= arguments.most_nbgrader]
    stock = [("stock", arguments.stock)] if arguments.stock else []
    for path, count in [*stock, *ours, *stock]:
        rows.append(measure(path, count, arguments.jobs))
        save("grading", {"machine": text, "rows": rows}, report(rows, text))
    print(report(rows, text))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
