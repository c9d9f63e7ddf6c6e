"""Certification of the grader: correct versions of an exercise must get full marks, incorrect ones must lose points.

A specimen is a version of an exercise that states what it is:

    # exercise: top_p_probs
    # WRONG: drops the token that crosses p
    # SAYS: the message to a student who makes this mistake; by default, the line above
    def top_p_probs(logits, p): ...

`specimen_files.py` describes the files. A specimen runs in a worker, as a submission does, after the reference module and in the
same namespace, so that it replaces what it defines and takes everything else from the reference.
"""

from __future__ import annotations

import ast
import functools
import math
import os
import platform
import re
import subprocess
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from course.kit.paths import ROOT
from course.kit.threads import one_thread

from .. import __version__
from ..base.course_table import earlier_sources, known_topics, solution_source
from ..base.errors import CourseError
from ..base.parsing import parse
from ..base.specimen_files import SPECIMENS, Listed, find_specimens
from ..base.verdicts import Verdict
from ..checking.mistakes import NOTEBOOK_SEED
from ..checking.runner import Check, load_checks, run_check, run_checks, select
from ..grading.records import machine_name
from ..grading.timing_phase import measured
from ..lessons import find_day, lesson
from ..sandbox.confine.limits import Limits
from ..sandbox.process.forkserver_pool import level
from ..sandbox.process.local import LocalStudent
from ..sandbox.process.remote_student import RemoteStudent
from ..sandbox.submission import Cell
from .mistake_index import naming

COUNTS = ("right_total", "right_passed", "wrong_total", "wrong_killed")
SUMS = (*COUNTS, "named")
SHARE_SIDE_BY_SIDE = 0.75
"""The share of a limited time for judging side by side; the rest is for measuring speed, one after another."""
HEAD = re.compile(r"#\s*exercise:\s*(\w+)\s*\n#\s*(RIGHT|WRONG):\s*(.+)(?:\n#\s*SAYS:\s*(.+))?")


@dataclass(frozen=True)
class Specimen:
    topic: str
    file: str
    exercise: str
    right: bool
    difference: str
    source: str
    says: str = ""
    """The message to a student who makes this mistake."""
    place: str = ""
    """The specimen's place, for a person to find it."""


@dataclass
class Judgement:
    """The result of grading a specimen over all seeds.

    as_expected: with every seed, a correct specimen passed or an incorrect one lost points.
    """

    specimen: Specimen
    as_expected: bool
    failed: list[Verdict] = field(default_factory=list)
    note: str = ""
    at_notebook_seed: list[Verdict] = field(default_factory=list)
    """All verdicts of the course's checks with the notebook's seed, for an incorrect specimen that was judged past its first failure."""
    nearest_limit: float = 0.0
    """The largest share of a time limit that one of its cells or calls has used."""


@dataclass
class TopicResult:
    topic: str
    right_total: int = 0
    right_passed: int = 0
    wrong_total: int = 0
    wrong_killed: int = 0
    exercises: dict[str, dict[str, int]] = field(default_factory=dict)
    """The same four counts for each exercise."""
    survivors: list[dict[str, str]] = field(default_factory=list)
    false_failures: list[dict[str, str]] = field(default_factory=list)
    invalid: list[dict[str, str]] = field(default_factory=list)
    never_failed: list[str] = field(default_factory=list)
    """Checks that no incorrect specimen fails: they may be redundant, or a specimen is missing."""
    nearest_limit: dict[str, Any] = field(default_factory=dict)
    """The correct version that came nearest to a time limit, and the share that it used. The rest is the margin for slower machines."""

    named: int = 0
    """The number of incorrect versions whose mistake is named to the student, in the words of the specimen."""
    misnamed: list[dict[str, str]] = field(default_factory=list)
    """Incorrect versions that get the name of another mistake, and claims of checks that nobody has reviewed for the mistake yet."""

    @property
    def clean(self) -> bool:
        return not (self.survivors or self.false_failures or self.invalid or self.misnamed)


Progress = Callable[[int, int, Judgement], None]
"""A function called after each judgement, with the number so far, the total, and the judgement."""


def read_specimen(listed: Listed) -> Specimen:
    """Return the specimen of a listed version. Raises CourseError if the text is malformed."""
    if listed.fault:
        raise CourseError(f"{listed.place}: {listed.fault}")
    match = HEAD.match(listed.text)
    if match is None:
        first = "the first two lines" if listed.path.name == listed.file else "the file's name and the line below the head"
        raise CourseError(f"{listed.place}: {first} must be `# exercise: NAME` and `# RIGHT: ...` or `# WRONG: ...`")
    exercise, verdict, difference, says = match.groups()
    kind = listed.file.split("_")[0]
    if kind != verdict.lower():
        raise CourseError(f"{listed.place}: named {kind}_*, but the head says {verdict}: make them agree")
    known = dict.fromkeys(c.exercise for c in load_checks(listed.topic))
    if exercise not in known:
        raise CourseError(f"{listed.place}: no exercise {exercise!r} in topic {listed.topic!r}: choose one of {', '.join(known)}")
    difference = difference.strip()
    says = (says or difference).strip()
    return Specimen(listed.topic, listed.file, exercise, listed.right, difference, listed.text, says, listed.place)


def specimen_named(file: str, topic: str, folder: Path = SPECIMENS) -> Specimen:
    """Return the specimen with this file name. Raises CourseError if there is none."""
    for listed in find_specimens(folder, [topic]):
        if listed.file == file:
            return read_specimen(listed)
    raise CourseError(f"no specimen {file!r} in {folder / topic}")


def specimen_topics(folder: Path, topic: str | None) -> list[str]:
    """Return the named topic, or all topics that have a folder of specimens. Raises CourseError."""
    if not folder.is_dir():
        raise CourseError(f"no folder {folder}: give a folder with <topic>/<exercise>.py, or <topic>/right_*.py and <topic>/wrong_*.py")
    here = [t for t in known_topics() if (folder / t).is_dir()]
    if topic is None:
        if not here:
            raise CourseError(f"{folder} has no folder of a topic; topics are {', '.join(known_topics())}")
        return here
    if topic not in known_topics():
        raise CourseError(f"no topic {topic!r}: choose one of {', '.join(known_topics())}")
    if topic not in here:
        raise CourseError(f"no specimens for {topic!r}: {folder / topic} does not exist")
    return [topic]


def judge(specimen: Specimen, seeds: Iterable[int], limits: Limits, *, timing: bool = False, briefly: bool = False) -> Judgement:
    """Grade a specimen as a submission: a correct one by every check of its topic, an incorrect one by its exercise's checks.

    timing: run only the checks that measure speed, instead of all others.
    briefly: stop at the first check that an incorrect specimen fails, and grade a correct specimen only by the checks of its exercise and
    of the exercises that use it.
    With both timing and briefly, only the speed checks of the specimen's own exercise run.
    """
    selected = held_against(specimen, timing=timing, briefly=briefly)
    cells = [Cell("setup", lesson(find_day(specimen.topic)).setup), Cell("reference", solution_source(specimen.topic))]
    cells.append(Cell(specimen.file, specimen.source))
    failed: list[Verdict] = []
    at_notebook_seed: list[Verdict] = []
    killed_every_time, nearest_limit = True, 0.0
    for seed in seeds:
        remote = RemoteStudent(specimen.topic, cells, earlier_sources(specimen.topic), limits=limits, seed=seed)
        try:
            remote.start()
            if remote.cell_outcomes:
                name, outcome = next(iter(remote.cell_outcomes.items()))
                note = f"{name} does not run: {outcome.message}"
                return Judgement(specimen, as_expected=False, note=note)
            if timing:
                verdicts = measured(specimen.topic, selected, remote, [], seed)
            elif briefly and not specimen.right:
                verdicts = until_one_fails(specimen.topic, selected, remote, seed)
            else:
                verdicts = run_checks(specimen.topic, selected, remote, seed=seed, name_mistakes=False)
                if seed == NOTEBOOK_SEED:
                    of_course = {check.name for check in selected if not check.own}
                    at_notebook_seed = [verdict for verdict in verdicts if verdict.check in of_course]
            here = [v for v in verdicts if v.failed]
        finally:
            remote.close()
        failed += here
        nearest_limit = max(nearest_limit, remote.nearest_limit)
        killed_every_time &= bool(here)
    if specimen.right:
        return Judgement(specimen, as_expected=not failed, failed=failed, nearest_limit=nearest_limit)
    note = "" if killed_every_time else "every check of its exercise passes" + (" for some seeds" if failed else "")
    return Judgement(specimen, as_expected=killed_every_time, failed=failed, note=note, at_notebook_seed=at_notebook_seed)


def held_against(specimen: Specimen, *, timing: bool, briefly: bool) -> list[Check]:
    if not specimen.right or (briefly and timing):
        return select(specimen.topic, exercise=specimen.exercise, timing=timing)
    checks = select(specimen.topic, timing=timing)
    if not briefly:
        return checks
    concerned = users(specimen.topic, specimen.exercise)
    return [c for c in checks if c.exercise in concerned]


@functools.cache
def users(topic: str, exercise: str) -> set[str]:
    """Return the names of the exercise and of every definition in the reference that uses it, directly or indirectly."""
    names_in = {
        node.name: {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
        for node in parse(solution_source(topic)).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }
    found: set[str] = set()
    new = {exercise}
    while new:
        found |= new
        new = {name for name, names in names_in.items() if names & new} - found
    return found


def until_one_fails(topic: str, selected: list[Check], remote: RemoteStudent, seed: int) -> list[Verdict]:
    verdicts = []
    for check in selected:
        verdicts.append(run_check(topic, check, remote, seed=seed))
        if verdicts[-1].failed:
            break
    return verdicts


def certify(
    topic: str | None = None,
    *,
    folder: Path | None = None,
    seeds: int = 3,
    jobs: int | None = None,
    limits: Limits | None = None,
    progress: Progress | None = None,
) -> list[TopicResult]:
    """Judge all specimens of a topic, or of all topics, with `seeds` different seeds each."""
    folder = folder or SPECIMENS
    results, specimens = read_specimens(folder, topic)
    failing: dict[str, set[str]] = {t: set() for t in results}

    def judged(done: int, total: int, judgement: Judgement) -> None:
        if not judgement.specimen.right:
            failing[judgement.specimen.topic] |= {v.check for v in judgement.failed}
        if progress is not None:
            progress(done, total, judgement)

    judge_all(results, specimens, seeds=seeds, jobs=jobs, limits=limits, progress=judged, ours=folder == SPECIMENS)
    for t, result in results.items():
        result.never_failed = [c.name for c in load_checks(t) if c.name not in failing[t]]
    return list(results.values())


def read_specimens(folder: Path, topic: str | None) -> tuple[dict[str, TopicResult], list[Specimen]]:
    """Return ({topic: a result that lists only the malformed specimens}, all other specimens)."""
    results = {t: TopicResult(t) for t in specimen_topics(folder, topic)}
    specimens: list[Specimen] = []
    for listed in find_specimens(folder, results):
        try:
            specimens.append(read_specimen(listed))
        except CourseError as error:
            results[listed.topic].invalid.append({"file": listed.file, "place": listed.place, "reason": str(error)})
    return results, specimens


def judge_all(
    results: dict[str, TopicResult],
    specimens: list[Specimen],
    *,
    seeds: int,
    jobs: int | None = None,
    limits: Limits | None = None,
    progress: Progress | None = None,
    briefly: bool = False,
    ours: bool = True,
    seconds: float = math.inf,
) -> list[Specimen]:
    """Judge these specimens and add the judgements to their topics' results. Return the specimens that were not judged in time.

    briefly: as in `judge`. ours: these are the course's own specimens, whose mistakes are known.
    seconds: after this time no further judgement begins.
    """
    limits = limits or Limits()
    begin = time.monotonic()
    done = 0
    for t in results:
        run_checks(t, [], LocalStudent({}))

    def judged(judgement: Judgement) -> None:
        nonlocal done
        done += 1
        tally(results[judgement.specimen.topic], judgement, ours=ours)
        if progress is not None:
            progress(done, len(specimens), judgement)

    def in_time(share: float = 1.0) -> bool:
        return time.monotonic() - begin < share * seconds

    def one(specimen: Specimen) -> Judgement | None:
        return judge(specimen, range(seeds), limits, briefly=briefly) if in_time(SHARE_SIDE_BY_SIDE) else None

    left, to_measure = [], []
    with one_thread(), ThreadPoolExecutor(jobs or os.cpu_count() or 1) as pool:
        for specimen, judgement in zip(specimens, pool.map(one, specimens), strict=True):
            if judgement is None:
                left.append(specimen)
            elif needs_measuring(judgement, briefly=briefly):
                to_measure.append(judgement)
            else:
                judged(judgement)
    for judgement in to_measure:  # alone, as in grading, and once: what is measured hardly depends on the seed
        if in_time():
            measured_too = judge(judgement.specimen, range(1), limits, timing=True, briefly=briefly)
            judged(replace(measured_too, nearest_limit=judgement.nearest_limit))
        else:
            left.append(judgement.specimen)
    return left


def in_a_notebook(
    topic: str, *, jobs: int | None = None, progress: Callable[[], None] | None = None
) -> list[Judgement]:
    """Judge a topic's incorrect versions with the notebook's seed, by all checks of their exercise except the speed checks."""
    specimens = [read_specimen(listed) for listed in find_specimens(SPECIMENS, [topic]) if not listed.right]
    run_checks(topic, [], LocalStudent({}))
    made = []
    with one_thread(), ThreadPoolExecutor(jobs or os.cpu_count() or 1) as pool:
        for judgement in pool.map(lambda s: judge(s, [NOTEBOOK_SEED], Limits()), specimens):
            made.append(judgement)
            if progress is not None:
                progress()
    return made


def needs_measuring(judgement: Judgement, *, briefly: bool = False) -> bool:
    """Return whether the speed checks have to run, because the version passed all other checks."""
    specimen = judgement.specimen
    if judgement.failed or (judgement.note and specimen.right):
        return False
    return bool(held_against(specimen, timing=True, briefly=briefly))


def tally(result: TopicResult, judgement: Judgement, *, ours: bool = True) -> None:
    """Add a judgement to a topic's result. ours: one of the course's own specimens, whose mistakes are known."""
    specimen = judgement.specimen
    entry = {"file": specimen.file, "place": specimen.place, "exercise": specimen.exercise, "difference": specimen.difference}
    counts = result.exercises.setdefault(specimen.exercise, dict.fromkeys(COUNTS, 0))
    total, as_expected = COUNTS[:2] if specimen.right else COUNTS[2:]
    counts[total] += 1
    counts[as_expected] += judgement.as_expected
    if specimen.right:
        result.right_total += 1
        result.right_passed += judgement.as_expected
        if judgement.nearest_limit > result.nearest_limit.get("share", 0.0):
            result.nearest_limit = {"file": specimen.file, "share": round(judgement.nearest_limit, 3)}
        if not judgement.as_expected:
            reason = judgement.note or "; ".join(dict.fromkeys(f"{v.check}: {describe(v)}" for v in judgement.failed))
            result.false_failures.append({**entry, "reason": reason})
    else:
        result.wrong_total += 1
        result.wrong_killed += judgement.as_expected
        if not judgement.as_expected:
            result.survivors.append({**entry, "reason": judgement.note})
        says, reasons = naming(specimen, judgement.at_notebook_seed) if ours else (False, [])
        result.named += says
        result.misnamed += [{**entry, "reason": reason} for reason in reasons]


def describe(verdict: Verdict) -> str:
    text = verdict.message
    if verdict.expected is not None:
        text += f", expected {verdict.expected}"
    if verdict.got is not None:
        text += f", got {verdict.got}"
    return text


def as_json(results: list[TopicResult]) -> dict[str, Any]:
    """Return {"topics": {topic: counts and lists}, and the sums over all topics}."""
    topics = {r.topic: {k: v for k, v in asdict(r).items() if k != "topic"} for r in results}
    sums = {k: sum(getattr(r, k) for r in results) for k in SUMS}
    return {"topics": topics, **sums}


def circumstances() -> dict[str, str]:
    """Return the version, commit, time and machine of a certification. Its figures cannot be compared without these."""
    return {
        "course_version": __version__,
        "commit": commit(),
        "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "machine": machine_name(),
        "python": platform.python_version(),
        "torch": str(torch.__version__),
        "isolation": level(),
    }


def commit() -> str:
    """Return the commit of the checkout, with a note if files differ from this commit; "" without git."""
    try:
        name, changed = _git("rev-parse", "--short=12", "HEAD"), changed_files()
    except (OSError, subprocess.CalledProcessError):
        return ""
    return f"{name}, with changes" if changed else name


def require_commit() -> None:
    """Raise CourseError unless the checkout is exactly a commit that others can check out. Published figures name this commit."""
    try:
        changed = changed_files()
    except (OSError, subprocess.CalledProcessError):
        raise CourseError("--into records the commit of the figures, but this is not a git repository: run it in a clone") from None
    if changed:
        more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
        raise CourseError(f"--into records the commit of the figures: commit {changed[0]}{more} first")


def changed_files() -> list[str]:
    """Return the files that differ from the commit, except the figures that `--into` writes."""
    figures = [f":!docs/data/{name}.json" for name in ("certification", "mutants", "mutants_right")]
    return [line[3:] for line in _git("status", "--porcelain", "--", ".", *figures).splitlines()]


def _git(*command: str) -> str:
    return subprocess.run(["git", "-C", str(ROOT), *command], capture_output=True, text=True, check=True).stdout.rstrip()
