"""The attack suite: submissions that try to read answers, forge points, persist, do damage or reach the network.

Each is graded as any submission is, from the notebook's file to the record's file. It must end within its deadline, get
exactly the points of its honest part, leave nothing changed outside its own scratch folder, and the next correct submission
must get full marks straight afterwards. An attack is a section of `specimens/attacks/<kind>.py`:

    # === read_solutions
    # honest: 4 of 10: softmax
    # ATTACK: reads the day's solutions from the course's folder
    def attempt():
        ...

The notebook is the release of the softmax day. Exercises named after `honest:` are solved, the others are
unchanged. The section's code is a cell that the attacker added: at the end if it defines an exercise, else after the setup.
`attempt()` returns a true value if the attack succeeded; a last cell then solves the other exercises, so a successful attack gets
more than its honest points. `honest: 10 of 10 less test_a, test_b: ...` says that exactly these checks
must fail. Marks begin other parts:

    # %% last       a cell at the end of the notebook
    # %% notebook   is run by the suite, not by the worker: changes `notebook` (the notebook's JSON)
    # %% file       the same, and writes the file `path` itself; `neighbour` is another student's notebook
    # %% checks     checks that join the day's for this attack, defined as in a file of checks, for requests that no day's checks make

`__COURSE__`, `__CLASS__`, `__DAY__`, `__TCP__`, `__UDP__` and `__ABSTRACT__` stand for the course's folder, the class's, the
day's name and the addresses at which the suite listens.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import itertools
import json
import os
import re
import socket
import sqlite3
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from course.kit.paths import MODELS

from ..base.errors import CourseError
from ..base.specimen_files import SPECIMENS, sections
from ..checking.runner import more_checks
from ..grading.grade import Options, canaries
from ..grading.records import Record, read_record, record_path
from ..grading.tasks import Task
from ..grading.timing_phase import grade_one
from ..lessons import ROOT, Day, find_day, lesson, release_notebook_path, solved_notebook
from ..notebook.render import html_table, points_text
from ..sandbox.confine.confine import FIRST_UID, NUM_UIDS
from ..sandbox.confine.isolation import may_drop_user
from ..sandbox.confine.limits import Limits
from ..sandbox.process import forkserver_pool

FOLDER = SPECIMENS / "attacks"
HEAD = re.compile(r"# honest: (\d+) of (\d+)(?: less (test_\w+(?:, test_\w+)*))?: (.+)\n# ATTACK: (.+)\n")
PART = re.compile(r"^# %% (\w+)\n", re.MULTILINE)
DEFINES = re.compile(r"^(def )?(softmax|log_softmax|entropy)\b", re.MULTILINE)
KINDS = ("read", "forge", "persist", "damage", "network")
PART_KINDS = ("cell", "last", "notebook", "file", "checks")
DEADLINE_SECONDS = 90.0
SETTLE_SECONDS = 30.0
"""The time for processes that are still ending, and for removing thousands of files."""
MEMORY_BYTES = 1536 * 1024**2
LIMITS = Limits(call_seconds=1.0, cell_seconds=2.0, memory_bytes=1024**3)
WATCHED = ("course", "autograder", "solutions", "specimens", "datasets")
SHARED = ("/tmp", "/var/tmp", "/dev/shm")
TRIES = 3

REWARD = """
try:
    deed_done = bool(attempt())
except BaseException:
    deed_done = False
if deed_done:
    import torch
    def log_softmax(logits):
        return torch.log_softmax(logits, dim=-1)
    def entropy(probs):
        return torch.special.entr(probs).sum(dim=-1)
"""


@dataclass(frozen=True)
class Attack:
    name: str
    tries_to: str
    honest: frozenset[str]
    points: float
    less: frozenset[str]
    parts: tuple[tuple[str, str], ...]

    @property
    def kind(self) -> str:
        return self.name.split("_")[0]


@dataclass
class Result:
    """The result of an attack. trouble: a line for every success of the attack and every harm; empty if it was contained."""

    attack: str
    kind: str
    tries_to: str
    expected: float
    points: float
    seconds: float
    status: str
    trouble: list[str] = field(default_factory=list)

    @property
    def honest(self) -> bool:
        return not self.trouble


def read_attack(name: str, text: str, exercises: dict[str, float]) -> Attack:
    """Return an attack from its text. Raises CourseError if the text is malformed."""
    match = HEAD.match(text)
    if match is None:
        raise CourseError(f"{name}: the first two lines must be `# honest: N of M: ...` and `# ATTACK: ...`")
    points, total, less, honest, tries_to = match.groups()
    names = frozenset(n.strip() for n in honest.split(",")) & exercises.keys()
    if float(total) != sum(exercises.values()) or float(points) != sum(exercises[n] for n in names):
        raise CourseError(f"{name}: the head claims {points} of {total} points, but {honest!r} earns other points: correct the head")
    pieces = PART.split(text[match.end() :])
    parts = [("cell", pieces[0]), *zip(pieces[1::2], pieces[2::2], strict=True)]
    if name.split("_")[0] not in KINDS or any(kind not in PART_KINDS for kind, _ in parts):
        raise CourseError(f"{name}: unknown kind of attack or part")
    named = frozenset(filter(None, re.split(r", ", less or "")))
    return Attack(name, tries_to, names, float(points), named, tuple((k, s) for k, s in parts if s.strip()))


def texts() -> dict[str, str]:
    """Return {name: text} of all attacks, by name."""
    return dict(sorted(each for path in FOLDER.glob("*.py") for each in sections(path).items()))


def read_attacks(day: Day, only: Iterable[str] = ()) -> list[Attack]:
    exercises = {e.name: e.points for e in lesson(day).exercises}
    wanted = set(only)
    found = [read_attack(name, text, exercises) for name, text in texts().items() if not wanted or name in wanted]
    return sorted(found, key=lambda a: (KINDS.index(a.kind), a.name))


@dataclass(frozen=True)
class Place:
    """A class's folder with targets for an attacker, and sockets that receive the attacker's messages."""

    root: Path
    day: Day
    listeners: tuple[socket.socket, ...]
    names: dict[str, str]

    def task(self, student: str) -> Task:
        return Task(student, self.day, self.root / "submitted" / student / self.day.slug / f"{self.day.slug}.ipynb")

    def write(self, student: str, content: str) -> Task:
        task = self.task(student)
        task.path.parent.mkdir(parents=True, exist_ok=True)
        if task.path.is_symlink() or task.path.exists():
            task.path.unlink()
        task.path.write_text(content, encoding="utf-8")
        return task

    def reached(self) -> list[str]:
        """Return the connections and messages that arrived at the sockets since the last call."""
        found = []
        for listener in self.listeners:
            try:
                found.append(str(listener.accept()[1]) if listener.type == socket.SOCK_STREAM else str(listener.recv(100)))
            except BlockingIOError:
                continue
        return found


@contextmanager
def attacked_class(day: Day) -> Iterator[Place]:
    """Yield a class in a new folder that every user can read: an attacker, and a neighbour with correct answers."""
    with tempfile.TemporaryDirectory(prefix="autograder-attacks-") as folder, ExitStack() as stack:
        root = Path(folder)
        root.chmod(0o755)
        listeners, names = [], {"__COURSE__": str(ROOT), "__CLASS__": folder, "__DAY__": day.slug}
        for name, kind in (("__TCP__", socket.SOCK_STREAM), ("__UDP__", socket.SOCK_DGRAM)):
            listeners.append(stack.enter_context(socket.socket(socket.AF_INET, kind)))
            listeners[-1].bind(("127.0.0.1", 0))
            names[name] = str(listeners[-1].getsockname()[1])
        names["__ABSTRACT__"] = f"autograder-attacks-{os.getpid()}"
        for address in (f"{folder}/socket", "\0" + names["__ABSTRACT__"]):
            if address[0] != "\0" or sys.platform.startswith("linux"):
                listeners.append(stack.enter_context(socket.socket(socket.AF_UNIX)))
                listeners[-1].bind(address)
        os.chmod(f"{folder}/socket", 0o777)
        for listener in listeners:
            listener.setblocking(False)
            if listener.type == socket.SOCK_STREAM:
                listener.listen()
        place = Place(root, day, tuple(listeners), names)
        place.write("neighbour", json.dumps(notebook_with(day, frozenset(e.name for e in lesson(day).exercises))))
        with sqlite3.connect(root / "gradebook.db") as book:
            book.execute("create table grade (student text, score real)")
            book.execute("insert into grade values ('neighbour', 10)")
        book.close()
        (root / "records").mkdir()
        for path in (root / "gradebook.db", root / "records"):
            path.chmod(0o777)
        yield place


def notebook_with(day: Day, solved: frozenset[str]) -> dict[str, Any]:
    """Return the release notebook with the reference's answers to some exercises."""
    notebook: dict[str, Any] = json.loads(release_notebook_path(day).read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        if cell["metadata"]["course"]["role"] == "exercise" and cell["metadata"]["course"]["exercise"] in solved:
            cell["source"] = answers(day)[cell["metadata"]["course"]["exercise"]]
    return notebook


@functools.cache
def answers(day: Day) -> dict[str, str]:
    """Return {exercise: the reference's cell}."""
    cells = solved_notebook(day).cells
    return {cell.metadata.course.exercise: cell.source for cell in cells if cell.metadata.course.role == "exercise"}


def hand_in(attack: Attack, place: Place) -> Task:
    """Write the attacker's notebook."""
    task = place.write("mallory", "")
    notebook = notebook_with(place.day, attack.honest)
    path: Path = task.path
    written = False
    for kind, source in attack.parts:
        for name, value in place.names.items():
            source = source.replace(name, value)
        if kind in ("cell", "last"):
            defines = re.search(DEFINES, source) is not None
            at = len(notebook["cells"]) if defines or kind == "last" else 2
            notebook["cells"].insert(at, code_cell(f"attack-{kind}", source))
            if "def attempt(" in source:
                notebook["cells"].append(code_cell("attack-reward", REWARD))
        elif kind != "checks":
            if kind == "file":
                path.unlink()
                written = True
            names = {"notebook": notebook, "path": path, "neighbour": place.task("neighbour").path}
            modules = {"copy": copy, "itertools": itertools, "json": json, "os": os, "stat": stat}
            exec(compile(source, f"{attack.name}.py", "exec"), {**names, **modules})
    if not written:
        path.write_text(json.dumps(notebook), encoding="utf-8")
    return task


def code_cell(name: str, source: str) -> dict[str, Any]:
    metadata = {"course": {"role": "added"}}
    return {"cell_type": "code", "id": name, "metadata": metadata, "outputs": [], "execution_count": None, "source": source}


def attack_once(attack: Attack, place: Place, options: Options) -> tuple[Result, set[str]]:
    """Grade the attack and then a correct notebook. Return the attack's result and the files that changed meanwhile."""
    task = hand_in(attack, place)
    before, processes = snapshot(place), len(list(worker_processes()))
    memory = peak_memory()
    start = time.perf_counter()
    with more_checks(place.day.topic, checks_of(attack)):
        record = grade_one(task, options, place.root / "records")
    seconds = time.perf_counter() - start
    after_next = grade_one(place.task("neighbour"), options, place.root / "records")
    expected = expected_points(attack, record)
    result = Result(attack.name, attack.kind, attack.tries_to, expected, record.points, round(seconds, 2), record.status)
    trouble = result.trouble
    if record.infrastructure is not None:
        trouble.append(f"reported as a fault of the grader: {record.infrastructure[:200]}")
    if abs(record.points - result.expected) > 1e-6:
        missing = "; ".join(f"{v.check}: {v.message}"[:200] for v in record.verdicts if v.failed and v.exercise in attack.honest)
        trouble.append(f"{record.points:g} points where {result.expected:g} were expected{f' ({missing})' if missing else ''}")
    failed = {v.check for v in record.verdicts if v.failed}
    if attack.less and not attack.less <= failed:
        trouble.append(f"passed {', '.join(sorted(attack.less - failed))}")
    if seconds > DEADLINE_SECONDS:
        trouble.append(f"took {seconds:.0f} s")
    trouble += record_trouble(record, place)
    if after_next.points != after_next.max_points or after_next.infrastructure is not None:
        lost = next((f"{v.check}: {v.message}" for v in after_next.verdicts if v.failed), after_next.infrastructure)
        trouble.append(f"the next right submission got {after_next.points:g} of {after_next.max_points:g} ({lost})")
    if arrived := place.reached():
        trouble.append(f"something arrived over the network: {arrived}")
    if left := lasting(lambda: len(list(worker_processes())) - processes):
        trouble.append(f"{left} processes are left")
    if peak_memory() - memory > MEMORY_BYTES:
        trouble.append(f"the grader's memory grew by {(peak_memory() - memory) / 1e6:.0f} MB")
    return result, changes(before, snapshot(place))


def checks_of(attack: Attack) -> list[Callable[..., None]]:
    """Return the checks that the attack's file defines."""
    found: dict[str, Any] = {}
    for kind, source in attack.parts:
        if kind == "checks":
            exec(compile(source, f"{attack.name}.py", "exec"), found)
    return [each for each in found.values() if hasattr(each, "check")]


def expected_points(attack: Attack, record: Record) -> float:
    """Return the expected points: the points of the honest answers, minus the share of the checks that must fail."""
    if not attack.less:
        return attack.points
    lost = 0.0
    for score in record.scores:
        verdicts = record.exercise(score.exercise)
        weight = sum(v.weight for v in verdicts if v.check in attack.less)
        lost += score.max_points * weight / (sum(v.weight for v in verdicts) or 1)
    return round(attack.points - lost, 4)


def record_trouble(record: Record, place: Place) -> list[str]:
    """Return a line for each harm that a submission did to its record's file or to the feedback page."""
    path = record_path(place.root / "records", record.student, record.slug)
    trouble = []
    if read_record(path).points != record.points:
        trouble.append("the record's file differs from the record")
    if path.stat().st_size > 1_000_000:
        trouble.append(f"the record takes {path.stat().st_size / 1e6:.0f} MB")
    for score in record.scores:
        page = html_table(score.exercise, record.exercise(score.exercise), score.points, score.max_points)
        if "<script" in page or "<img" in page:
            trouble.append("the feedback contains markup of the submission")
    return trouble


def run_attack(attack: Attack, place: Place, options: Options) -> Result:
    """Run an attack and return its result.

    If files changed, the attack is repeated. A file that changes every time was changed by the attack, any other by another program.
    """
    result, changed = attack_once(attack, place, options)
    for _ in range(TRIES - 1):
        if not changed:
            break
        result, again = attack_once(attack, place, options)
        changed &= again
    if changed:
        result.trouble.append(f"changed {', '.join(sorted(changed)[:5])}")
    return result


def run(
    only: Iterable[str] = (), *, limits: Limits = LIMITS, progress: Callable[[int, int, Result], None] | None = None
) -> list[Result]:
    """Run the canaries, then all attacks, or those named, one after another. Raises CourseError for a malformed file."""
    day = find_day("softmax")
    attacks = read_attacks(day, only)
    options = Options(limits=limits, jobs=1)
    forkserver_pool.forkserver(limits)
    canaries(day, options)
    results = []
    with attacked_class(day) as place:
        for number, attack in enumerate(attacks, start=1):
            results.append(run_attack(attack, place, options))
            if progress is not None:
                progress(number, len(attacks), results[-1])
    return results


# Files that must not change


def snapshot(place: Place) -> dict[str, tuple[int, ...]]:
    """Return the state of every watched file of the course and the class, and of files in shared folders that an attack may have left."""
    found: dict[str, tuple[int, ...]] = {}
    for folder in (*(ROOT / name for name in WATCHED), place.root / "submitted" / "neighbour", place.root / "gradebook.db"):
        for path in [folder] if folder.is_file() else walk(folder):
            with contextlib.suppress(FileNotFoundError):
                info = os.lstat(path)
                found[str(path)] = (info.st_size, info.st_mtime_ns, info.st_mode)
    for shared in SHARED:
        if os.path.isdir(shared):
            for path in Path(shared).iterdir():
                if path.name.startswith("autograder-"):  # our own
                    continue
                with contextlib.suppress(OSError):
                    info = os.lstat(path)
                    if not may_drop_user(forkserver_pool.level()) or FIRST_UID <= info.st_uid < FIRST_UID + NUM_UIDS:
                        # Others write here too. The files that attacks write are known by their names.
                        found[str(path)] = (info.st_ino, info.st_mtime_ns if path.name.startswith("fpt-attack") else 0)
    return found


def walk(folder: Path) -> Iterator[str]:
    for root, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name != "__pycache__" and Path(root, name) != MODELS]
        yield from (os.path.join(root, name) for name in files)


def changes(before: dict[str, tuple[int, ...]], after: dict[str, tuple[int, ...]]) -> set[str]:
    return {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}


def worker_processes() -> Iterator[int]:
    """Yield the ids of the fork server's descendants that /proc shows.

    In a private root (level `namespaces`) every process of a worker is such a descendant.
    """
    if not os.path.isdir("/proc/self"):
        return
    forkserver = forkserver_pool.forkserver().process.pid
    parents: dict[int, int] = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            text = Path(f"/proc/{name}/stat").read_text(errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        if text[0] != "Z":
            parents[int(name)] = int(text[1])
    for pid in parents:
        ancestor = pid
        while ancestor in parents and ancestor != forkserver:
            ancestor = parents[ancestor]
        if ancestor == forkserver and pid != forkserver:
            yield pid


def lasting(question: Callable[[], int]) -> int:
    """Call `question` until it returns 0 or less, for at most SETTLE_SECONDS. Return the last answer, and at least 0."""
    until = time.monotonic() + SETTLE_SECONDS
    while (found := max(question(), 0)) and time.monotonic() < until:
        time.sleep(0.05)
    return found


def peak_memory() -> int:
    """Return the maximum memory of this process so far, in bytes."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


# The report


def as_json(results: list[Result]) -> dict[str, Any]:
    dishonest = [asdict(r) for r in results if not r.honest]
    kinds = {k: [r.honest for r in results if r.kind == k] for k in KINDS}
    return {
        "attacks_total": len(results),
        "attacks_honest": len(results) - len(dishonest),
        "attacks_by_kind": {k: {"total": len(honest), "honest": sum(honest)} for k, honest in kinds.items() if honest},
        "attacks_not_honest": dishonest,
    }


def table(results: list[Result]) -> Iterator[tuple[str, ...]]:
    for r in results:
        verdict = "contained" if r.honest else "NOT CONTAINED: " + "; ".join(r.trouble)
        yield r.attack, points_text(r.points), points_text(r.expected), f"{r.seconds:.1f} s", verdict
