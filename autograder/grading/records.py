"""A record: the result of grading one submission. Everything else (gradebook, feedback, tables, exports) is made from records."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import os
import platform
import typing
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from ..base.errors import CourseError, Unavailable
from ..base.files import write_whole
from ..base.verdicts import CRASHED, INCONCLUSIVE, INFRASTRUCTURE, PASS, SKIPPED, Verdict
from ..sandbox.protocol.text import all_encodable

try:
    import fcntl
except ImportError:  # Windows has none
    fcntl = None  # type: ignore[assignment]

FORMAT = 1
FLOAT32, QUANTIZED = "float32", "quantized"
"""The boards of the race."""
Made = typing.TypeVar("Made")


@dataclass
class ExerciseScore:
    """The points of one exercise: max_points times the weighted share of the exercise's checks that pass, to four decimals."""

    exercise: str
    points: float
    max_points: float


@dataclass
class RaceScore:
    """The result of a race of the capstone's engine. score is None if there is none, and `fault` gives the reason.

    board: the rule for the race's tokens. model: the model of the race. goodputs: tokens a second, by offered rate in multiples of the
    capacity of the course's engine. not_verified: the reason why the score must not be compared, or "" for none.
    """

    board: str
    model: str
    score: float | None
    goodputs: dict[str, float]
    seed: int
    fault: str | None = None
    not_verified: str = ""


@dataclass
class Record:
    student: str
    slug: str
    topic: str
    course_version: str
    seed: int
    isolation: str
    machine: str
    submission_sha256: str
    course_sha256: str = ""
    verdicts: list[Verdict] = field(default_factory=list)
    scores: list[ExerciseScore] = field(default_factory=list)
    cells: dict[str, str] = field(default_factory=dict)
    """The cells that did not run to their end: name -> outcome and message."""
    notes: dict[str, str] = field(default_factory=dict)
    """The oddities of cells: {exercise that lost points: what is odd about its cells}."""
    problem: str | None = None
    """The reason why the file could not be read as a submission; every score is then 0."""
    infrastructure: str | None = None
    """The fault of the grader or the machine, not of the submission: the scores mean nothing, and a person must look."""
    seconds: float = 0.0
    timing_due: bool = False
    """The mark of a record whose speed has not been measured yet: the scores are not final."""
    race: RaceScore | None = None
    """The race, of the capstone alone, and only if its engine raced."""
    format: int = FORMAT

    @property
    def points(self) -> float:
        return round(sum(s.points for s in self.scores), 4)

    @property
    def max_points(self) -> float:
        return round(sum(s.max_points for s in self.scores), 4)

    @property
    def needs_person(self) -> bool:
        return self.infrastructure is not None or any(v.outcome in (INCONCLUSIVE, INFRASTRUCTURE) for v in self.verdicts)

    @property
    def crashed(self) -> bool:
        """Return True if a process of this submission ended in a cell or in a call."""
        return any(v.outcome == CRASHED for v in self.verdicts) or any(text.startswith(CRASHED) for text in self.cells.values())

    @property
    def status(self) -> str:
        """Return the status in one or two words, for a table."""
        if self.infrastructure is not None:
            return "needs a person"
        if self.problem is not None:
            return "unreadable"
        outcomes = {v.outcome for v in self.verdicts}
        words = {"crashed": "crashed", "timeout": "timed out", "memory": "out of memory", "inconclusive": "needs a person"}
        for outcome, text in words.items():
            if outcome in outcomes:
                return text
        if outcomes <= {PASS, SKIPPED}:
            return "pass"
        return "partial" if self.points else "zero"

    def exercise(self, name: str) -> list[Verdict]:
        return [v for v in self.verdicts if v.exercise == name]


def write_record(folder: Path, record: Record) -> Path:
    """Write records/<slug>/<student>.json atomically."""
    target = record_path(folder, record.student, record.slug)
    write_whole(target, record_text(record).encode(errors="backslashreplace"), prefix=".record-", mode=0o600, durable=True)
    return target


def record_text(record: Record) -> str:
    """Return JSON with one line for each field, and in lists one line for each verdict and score.

    Without a race the field is left out.
    """
    lines = []
    for name, value in vars(record).items():
        if name == "race":
            if value is None:
                continue
            text = _json(vars(value))
        elif name in ("verdicts", "scores") and value:
            text = "[\n  " + ",\n  ".join(_json(vars(each)) for each in value) + "\n ]"
        else:
            text = _json(value)
        lines.append(f" {_json(name)}: {text}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


_json = json.JSONEncoder(ensure_ascii=False).encode


@contextlib.contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Lock this folder of records against other grading runs, and delete half-written files of a killed run.

    The lock ends with its process, even if the process is killed. Raises Unavailable.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        if fcntl is not None:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise Unavailable(f"another `autograder grade` is running on {folder}: wait for it to end") from None
        for left in folder.glob("*/.record-*"):
            left.unlink(missing_ok=True)
        yield


def record_path(folder: Path, student: str, slug: str) -> Path:
    return folder / slug / f"{student}.json"


def read_record(path: Path) -> Record:
    """Return the record in a file. Raises CourseError if it is damaged, of another format, or not of the student in the file's name."""
    try:
        table: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if table.get("format") != FORMAT:
            raise CourseError(f"{path}: a record of format {table.get('format')!r}, but this version reads format {FORMAT}: grade again")
        record = record_of(table)
        if (record.student, record.slug) != (path.stem, path.parent.name):
            raise ValueError("of another submission")
        return record
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise CourseError(f"{path}: a damaged record ({type(error).__name__}): delete it and grade again") from None


def record_of(table: dict[str, Any]) -> Record:
    """Rebuild a record from its table. Raises TypeError, KeyError or ValueError for any other table."""
    table = all_encodable(table)
    record = _made(Record, {**table, "verdicts": [], "scores": [], "race": None})
    record.verdicts = [_made(Verdict, v) for v in table["verdicts"]]
    record.scores = [_made(ExerciseScore, s) for s in table["scores"]]
    if table.get("race") is not None:
        record.race = _made(RaceScore, table["race"])
    if any(not 0 <= score.points <= score.max_points for score in record.scores):
        raise ValueError("impossible points")
    return record


def _made(kind: type[Made], table: dict[str, Any]) -> Made:
    """Build a dataclass from a table, and check that each value has its field's type and each number is finite."""
    made = kind(**table)
    for name, hint in FIELD_TYPES[kind].items():
        value = getattr(made, name)
        if not _is(value, hint):
            raise TypeError(f"{name} is {value!r:.100}")
    return made


FIELD_TYPES: dict[type, dict[str, Any]] = {kind: typing.get_type_hints(kind) for kind in (Record, RaceScore, Verdict, ExerciseScore)}


def _is(value: Any, hint: Any) -> bool:
    """Return True if a value read from JSON is of an annotated type: a plain one, an optional one, a list or a dict of such."""
    if hint is Any:
        return True
    if hint is float:
        return type(value) in (int, float) and math.isfinite(value)
    if not typing.get_args(hint):
        return type(value) is hint or (isinstance(hint, type) and dataclasses.is_dataclass(hint) and isinstance(value, hint))
    inner = typing.get_args(hint)
    if typing.get_origin(hint) is list:
        return type(value) is list and all(_is(each, inner[0]) for each in value)
    if typing.get_origin(hint) is dict:
        return type(value) is dict and all(_is(k, inner[0]) and _is(v, inner[1]) for k, v in value.items())
    return any(_is(value, each) for each in inner)


def read_records(folder: Path, slug: str | None = None) -> list[Record]:
    pattern = f"{slug}/*.json" if slug else "*/*.json"
    return [read_record(path) for path in sorted(folder.glob(pattern))]


@cache
def machine_name() -> str:
    return f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors"
