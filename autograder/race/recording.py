"""A race stored as a record, from which exports are made, as for any grading."""

from __future__ import annotations

from pathlib import Path

from .. import __version__
from ..base.verdicts import FAIL, PASS, Verdict
from ..gradebook.policy.roster import Person
from ..gradebook.results import ExerciseResult, Result
from ..grading.records import ExerciseScore, RaceScore, Record, machine_name
from ..sandbox.process import forkserver_pool
from ..sandbox.submitted_file import file_sha256
from .baselines import TOPIC
from .entry import ENGINE
from .rightness import TITLES, Part
from .running import Outcome


def record_of(outcome: Outcome, notebook: Path, student: str, not_verified: str = "") -> Record:
    """Return a record with the race, if there was one, and a verdict and a point for each `Part` of rightness.

    An engine that could not be judged gets no points, and the same reason at each part.
    """
    parts = outcome.parts or [Part(title, outcome.fault) for title in TITLES]
    verdicts = [
        Verdict(f"part_{number}", ENGINE, part.title, 1.0, False, PASS if part.fault is None else FAIL, part.fault or "")
        for number, part in enumerate(parts, start=1)
    ]
    record = Record(
        student=student,
        slug=TOPIC,
        topic=TOPIC,
        course_version=__version__,
        seed=outcome.seed,
        isolation=forkserver_pool.level(),
        machine=machine_name(),
        submission_sha256=file_sha256(notebook),
        verdicts=verdicts,
        scores=[ExerciseScore(ENGINE, float(sum(part.points for part in parts)), float(len(TITLES)))],
        seconds=outcome.seconds,
    )
    if outcome.promises is not None:
        goodputs = {f"{rate.rate:g}": rate.goodput for rate in outcome.rates}
        record.race = RaceScore(outcome.board, outcome.model, outcome.score, goodputs, outcome.seed, outcome.no_score, not_verified)
    return record


def result_of(record: Record) -> Result:
    """Return the record's own scores. No gradebook is needed, because races are entered in none."""
    scores = tuple(ExerciseResult(score.exercise, score.points, score.points, score.max_points) for score in record.scores)
    return Result(record, Person(record.student), scores)
