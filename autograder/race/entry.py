"""An entry to the race: a capstone notebook in, an outcome out."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import torch

from course.kit.paths import ROOT
from course.kit.threads import one_thread

from ..base.course_table import earlier_sources
from ..base.errors import CourseError
from ..grading.records import FLOAT32
from ..lessons import capstone_path
from ..sandbox.confine.limits import cpu_seconds
from ..sandbox.process import forkserver_pool
from ..sandbox.submission import Cell, read_submission
from .baselines import LIMITS, TOPIC, Rivals
from .replay import SETUP_SECONDS, Racer
from .rightness import judge
from .running import TINY, Outcome, Track, race

ENGINE = "CapstoneEngine"


def student_cells(notebook: Path) -> list[Cell]:
    """Return the released setup cell and the student's own cells. Raises CourseError for a file that is not the race's notebook."""
    released = json.loads(capstone_path(ROOT).read_text(encoding="utf-8"))
    ours = {}
    for cell in released["cells"]:
        if cell["cell_type"] == "code" and cell["metadata"]["course"]["role"] != "exercise":
            source = cell["source"]
            ours[cell["id"]] = source if isinstance(source, str) else "".join(source)
    return [Cell("setup", ours["setup"]), *read_submission(notebook, TOPIC, ours).cells]


def enter(
    cells: list[Cell], seed: int, *, track: Track = TINY, board: str = FLOAT32, say: Callable[[str], None] = lambda line: None
) -> Outcome:
    """Judge an engine, and race it if all parts are right."""
    outcome = Outcome(seed, track.model, board)
    racer = Racer(TOPIC, cells, earlier_sources(TOPIC), limits=LIMITS, seed=seed)
    with one_thread(), closing(Rivals()) as rivals, closing(racer) as student:
        student.start()
        if ENGINE not in student.defined(ENGINE):
            broken = student.cell_outcomes.get(ENGINE)
            outcome.fault = f"there is no {ENGINE}" + (f": its cell did not run to its end: {broken.message}" if broken else "")
            return outcome
        if (used := student.clock()) > SETUP_SECONDS:
            outcome.fault = f"the cells took {used:.1f} s of processor time, more than {SETUP_SECONDS:g}"
            return outcome
        say("correctness: four parts")
        student.baseline = rivals.naive().bytes_at_first(TINY.model, torch.float32, torch.float64)
        outcome.parts = judge(student, seed)
        wrong = next((part for part in outcome.parts if part.fault), None)
        if wrong is not None:
            outcome.fault = f"{wrong.title}: {wrong.fault}"
            return outcome
        student.close()  # it races in a new worker, where nothing is left of what was judged
        student.baseline = rivals.naive().bytes_at_first(track.model, torch.float32)
        race(student, rivals.reference(), rivals.reference(), outcome, track=track, say=say)
    return outcome


def verified(local: bool) -> str:
    """Return "" if a result can be compared with others, because the code could not cheat the clock. Otherwise return the reason."""
    if local:
        return "run with --local, without isolation"
    if forkserver_pool.level() not in forkserver_pool.SAFE_LEVELS:
        return f"this machine has isolation level {forkserver_pool.level()} only"
    if cpu_seconds(1) is None:
        return "this system does not report the processor time of other processes"
    return ""


def notebook_of(path: Path | None) -> Path:
    """Return the path of the notebook to enter. Raises CourseError if there is none."""
    from ..notebook.workspace import workspace_folder

    found = path or (workspace_folder() or Path("work")) / TOPIC / f"{TOPIC}.ipynb"
    if not found.exists():
        raise CourseError(f"no notebook at {found}: run `autograder work` to get the released one, or name yours with --notebook")
    return found
