"""Judging of mutants as submissions: in a worker, by the checks of their exercise, until one fails."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from course.kit.threads import one_thread

from ...base import cache
from ...base.course_table import earlier_sources, known_topics, solution_source
from ...base.errors import CourseError
from ...base.specimen_files import SPECIMENS
from ...base.verdicts import FAIL
from ...checking.runner import Check, run_check, select
from ...grading import verdict_inputs
from ...grading.timing_phase import measured
from ...sandbox.confine.limits import Limits
from ...sandbox.process.remote_student import RemoteStudent
from ...sandbox.submission import Cell
from . import equivalent
from .kinds import mutants_by_kind
from .mutants import KINDS, REFERENCE, Identity, Mutant, mutants_of

SHARE = 12
"""One in SHARE mutants of the correct versions is judged, because there are six times as many of them as of the reference."""
LIMITS = Limits(check_seconds=10.0, submission_seconds=60.0)
"""The limits of grading, with a third of the time for a check and for all: endless mutants would be too expensive."""
SEED = 0
KIND = "mutants"
"""The kind of cache entry, with a file for each topic."""
DOES_NOT_RUN = "its cell does not run"
NOT_MEASURED = "its speed was not measured"
"""The verdict on a listed equivalent mutant that passes all else: speed says nothing against its reason."""


@dataclass
class Outcome:
    """The outcome of a mutant. killed_by: the check that failed first, `DOES_NOT_RUN`, or None. equivalent: the listed reason, if any."""

    mutant: Mutant
    killed_by: str | None
    equivalent: str | None = None

    @property
    def surviving(self) -> bool:
        return self.killed_by is None and self.equivalent is None


@dataclass
class Mutation:
    """The outcomes of a topic's mutants.

    stale: entries listed as equivalent whose mutant is killed or no longer exists.
    left_out: the number of mutants of correct versions that were not drawn.
    """

    topic: str
    outcomes: list[Outcome]
    stale: list[tuple[Identity, str]] = field(default_factory=list)
    left_out: int = 0

    @property
    def surviving(self) -> list[Mutant]:
        return [o.mutant for o in self.outcomes if o.surviving]

    @property
    def clean(self) -> bool:
        return not (self.surviving or self.stale)

    def counts(self, exercise: str | None = None) -> dict[str, int]:
        here = [o for o in self.outcomes if exercise in (None, o.mutant.exercise)]
        return {
            "made": len(here),
            "killed": sum(o.killed_by is not None for o in here),
            "equivalent": sum(o.killed_by is None and o.equivalent is not None for o in here),
            "surviving": sum(o.surviving for o in here),
        }


def run(
    topic: str,
    *,
    exercise: str | None = None,
    origin: str = "reference",
    share: int = SHARE,
    folder: Path = SPECIMENS,
    jobs: int | None = None,
    begin: Callable[[int], Callable[[], None]] | None = None,
) -> Mutation:
    """Judge a topic's mutants. Of the mutants of all correct versions (origin `right` or `all`) only one in `share` is judged.

    begin: a function that takes the number of mutants to judge, and returns a function to call after each.
    """
    if exercise is not None:
        select(topic, exercise=exercise)
    made = mutants_from(origin, topic, exercise=exercise, folder=folder)
    mutants = [m for m in made if origin not in ("right", "all") or is_of(m.identity, REFERENCE) or drawn(m, share)]
    listed = equivalent.read(topic, folder)
    memory = Memory(topic)
    unjudged = [m for m in mutants if not memory.knows(m, listed=m.identity in listed)]
    advance = begin(len(unjudged)) if begin is not None else lambda: None
    if unjudged:
        hold_the_unchanged(topic, {m.exercise for m in unjudged})

    def judged(mutant: Mutant) -> tuple[Mutant, str | None]:
        killer = killed_by(mutant)
        advance()
        return mutant, killer

    to_measure = []
    try:
        with one_thread(), ThreadPoolExecutor(jobs or os.cpu_count() or 1) as pool:
            for mutant, killer in pool.map(judged, unjudged):
                if killer is None and timing_checks(mutant):
                    to_measure.append(mutant)
                else:
                    memory.note(mutant, killer)
        for mutant in to_measure:  # alone, as in grading
            memory.note(mutant, NOT_MEASURED if mutant.identity in listed else too_slow_for(mutant))
    finally:
        memory.write()
    outcomes = [Outcome(m, memory.killer(m), listed.get(m.identity)) for m in mutants]
    stale = stale_entries(made, outcomes, listed, exercise=exercise, origin=origin)
    return Mutation(topic, outcomes, stale, left_out=len(made) - len(mutants))


def mutants_from(origin: str, topic: str, *, exercise: str | None = None, folder: Path = SPECIMENS) -> list[Mutant]:
    """Return a topic's mutants of an origin, kinds included."""
    if origin == KINDS:
        return mutants_by_kind(topic, exercise)
    return mutants_of(topic, exercise=exercise, origin=origin, folder=folder)


def drawn(mutant: Mutant, share: int) -> bool:
    """Return whether a mutant is in the sample of one in `share`.

    The mutant's digest decides. So the sample stays the same until the version changes.
    """
    return int(key(mutant), 16) % share == 0


def is_of(identity: Identity, origin: str) -> bool:
    """Return whether a mutant belongs to an origin: reference, right, all (of these two), kinds, or one correct version's file."""
    if KINDS in (origin, identity.origin):
        return origin == identity.origin
    return origin in ("all", identity.origin) or (origin == "right" and identity.origin != REFERENCE)


def stale_entries(
    made: Sequence[Mutant], outcomes: Sequence[Outcome], listed: dict[Identity, str], *, exercise: str | None, origin: str
) -> list[tuple[Identity, str]]:
    """Return the listed entries that are stale, as far as this run covers them. made: all mutants, even those that were not drawn."""
    exist = {m.identity for m in made}
    found = {o.mutant.identity: o for o in outcomes}
    stale = [
        (identity, f"killed by {found[identity].killed_by}")
        for identity in listed
        if identity in found and found[identity].killed_by is not None
    ]
    for identity in listed:
        mine = exercise is None or (identity.origin in (REFERENCE, KINDS) and identity.where.split(".")[0] == exercise)
        if is_of(identity, origin) and mine and identity not in exist:
            stale.append((identity, "no mutant matches this entry"))
    return stale


def killed_by(mutant: Mutant) -> str | None:
    """Return the check that fails first, or None."""
    return first_failing(mutant.topic, mutant.cells, untimed(mutant.topic, mutant.exercise))


def untimed(topic: str, exercise: str) -> list[Check]:
    return [check for check in select(topic, exercise=exercise, timing=False) if not check.gpu]


def first_failing(topic: str, cells: list[Cell], checks: Iterable[Check]) -> str | None:
    remote = RemoteStudent(topic, cells, earlier_sources(topic), limits=LIMITS, seed=SEED)
    try:
        remote.start()
        if remote.cell_outcomes:
            return DOES_NOT_RUN
        return next((check.name for check in checks if run_check(topic, check, remote, seed=SEED).failed), None)
    finally:
        remote.close()


def timing_checks(mutant: Mutant) -> list[Check]:
    return select(mutant.topic, exercise=mutant.exercise, timing=True)


def too_slow_for(mutant: Mutant) -> str | None:
    """Return the first speed check that the mutant fails, or None. An inconclusive measurement is not a failure."""
    remote = RemoteStudent(mutant.topic, mutant.cells, earlier_sources(mutant.topic), limits=LIMITS, seed=SEED)
    try:
        remote.start()
        verdicts = measured(mutant.topic, timing_checks(mutant), remote, [], SEED)
    finally:
        remote.close()
    return next((v.check for v in verdicts if v.outcome == FAIL), None)


def hold_the_unchanged(topic: str, exercises: set[str]) -> None:
    """Raise CourseError unless the unchanged reference passes the checks of its mutants within the same limits.

    If the reference failed a check, a mutant's failure would prove nothing.
    """
    cells = [Cell("reference", solution_source(topic))]
    checks = [check for exercise in sorted(exercises) for check in untimed(topic, exercise)]
    if (fails := first_failing(topic, cells, checks)) is not None:
        raise CourseError(f"{topic}: the reference fails {fails}: fix that first")


class Memory:
    """The results for a topic's mutants, cached until something that verdicts depend on changes."""

    def __init__(self, topic: str) -> None:
        self.topic = topic
        self.key = cache.key(verdict_inputs.digest(topic), asdict(LIMITS), SEED)
        stored = cache.load(KIND, topic, self.key)
        self.found: dict[str, str | None] = json.loads(stored) if stored else {}

    def knows(self, mutant: Mutant, *, listed: bool) -> bool:
        return key(mutant) in self.found and (listed or self.found[key(mutant)] != NOT_MEASURED)

    def killer(self, mutant: Mutant) -> str | None:
        name = self.found[key(mutant)]
        return None if name == NOT_MEASURED else name

    def note(self, mutant: Mutant, killer: str | None) -> None:
        self.found[key(mutant)] = killer

    def write(self) -> None:
        cache.store(KIND, self.topic, self.key, json.dumps(self.found, indent=0).encode())


def key(mutant: Mutant) -> str:
    return hashlib.sha256(f"{mutant.exercise}\0{mutant.identity.origin}\0{mutant.source}".encode()).hexdigest()[:32]


def as_json(results: Iterable[Mutation]) -> dict[str, Any]:
    """Return the counts in total, by topic and by exercise, the equivalent mutants with reasons, the survivors and the stale entries."""
    topics: dict[str, Any] = {}
    for result in results:
        names = dict.fromkeys(o.mutant.exercise for o in result.outcomes)
        topics[result.topic] = {
            **result.counts(),
            "left_out": result.left_out,
            "exercises": {name: result.counts(name) for name in names},
            "survivors": [{"exercise": m.exercise, "operator": m.operator, **asdict(m.identity)} for m in result.surviving],
            "equivalents": [
                {"exercise": o.mutant.exercise, **asdict(o.mutant.identity), "reason": o.equivalent}
                for o in result.outcomes
                if o.killed_by is None and o.equivalent is not None
            ],
            "stale": [{**asdict(identity), "why": why} for identity, why in result.stale],
        }
    return counted(topics)


def counted(topics: dict[str, Any]) -> dict[str, Any]:
    kinds = ("made", "killed", "equivalent", "surviving", "left_out")
    return {**{kind: sum(counts.get(kind, 0) for counts in topics.values()) for kind in kinds}, "topics": topics}


def joined(older: dict[str, Any], newer: dict[str, Any]) -> dict[str, Any]:
    """Merge two runs. Topics that the newer run judged come from it, all others from the older run, each with its run's data.

    Raises CourseError if the two runs differ in origin or share.
    """
    if (asked := tuple(newer[name] for name in ("origin", "share"))) != (
        was := tuple(older.get(name, newer[name]) for name in ("origin", "share"))
    ):
        raise CourseError(
            f"the file has results for --origin {was[0]} --share {was[1]}, not for {asked[0]} and {asked[1]}: give another file"
        )
    topics = {name: {"run": run["run"], **counts} for run in (older, newer) for name, counts in run["topics"].items()}
    order = known_topics()
    return {**older, **newer, **counted({name: topics[name] for name in sorted(topics, key=order.index)})}
