"""Certification in CI: the choice of the specimens to judge again after a change.

The figures of the last release (`docs/data/certification.json`) name the commit at which each topic was certified. Three groups follow:

- specimens that are new or changed since that commit: all are judged;
- specimens of topics with another changed input of verdicts (`verdict_inputs`): as many as a budget of minutes allows,
  the same share of every topic;
- the others: a tenth.

The specimens of the second and the third group are drawn at random; the last line of the output gives the draw's seed (`--draw`).
The figures serve only to find the commit of comparison; if that commit is unknown, every specimen counts as changed.
"""

from __future__ import annotations

import functools
import json
import random
import re
import subprocess
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from course.kit.paths import ROOT

from ..base.specimen_files import SPECIMENS, find_specimens
from ..grading import verdict_inputs
from ..grading.verdict_inputs import LIBRARIES, NUMBERS, meaning, numbers
from ..lessons import find_day
from .certify import Progress, Specimen, TopicResult, judge_all, read_specimens

FIGURES = ROOT / "docs" / "data" / "certification.json"
DRAWS = 1_000_000
SHARE = 0.1
"""The share of judged specimens in topics without changes."""
LOCK = Path("requirements.lock")
CERTIFIER = Path("autograder", "certification", "certify.py")
"""The module that decides, after the graders, whether a specimen got the expected verdict."""


@dataclass
class Draw:
    """The specimens to judge, in order, and the number left out of each group."""

    number: int
    changed: dict[str, str]
    """{topic: the first input that has changed}, or why it counts as changed."""
    own: list[Specimen] = field(default_factory=list)
    """Specimens that are new or changed themselves."""
    others: list[Specimen] = field(default_factory=list)
    """A tenth of the unchanged specimens of unchanged topics."""
    num_others: int = 0
    affected: list[Specimen] = field(default_factory=list)
    """All other specimens of topics with a changed input; the time decides how many are judged."""
    left: list[Specimen] = field(default_factory=list)
    """Specimens that were not judged, for lack of time."""

    @property
    def order(self) -> list[Specimen]:
        return [*self.own, *self.others, *self.affected]

    def summary(self) -> list[str]:
        """Return lines with the numbers of judged and unjudged specimens."""
        lines = [f"{topic}: changed since it was certified ({why})" for topic, why in self.changed.items()]
        groups = {(s.topic, s.file): name for name in ("own", "others", "affected") for s in getattr(self, name)}
        left = Counter(groups[s.topic, s.file] for s in self.left)
        for name, group, total in (
            ("specimens that are new or changed", "own", len(self.own)),
            ("specimens of topics with a changed input", "affected", len(self.affected)),
            ("other specimens", "others", self.num_others),
        ):
            drawn = len(self.others) if group == "others" else total
            lines.append(f"{name}: {drawn - left[group]:,} judged, {total - drawn + left[group]:,} not judged")
        return [*lines, f"draw {self.number}: the same ones again with --draw {self.number}"]


def drawn(draw: int, figures: Path = FIGURES) -> tuple[dict[str, TopicResult], Draw]:
    """Return an empty result for each topic, and the specimens to judge."""
    results, specimens = read_specimens(SPECIMENS, None)
    return results, choose(specimens, commits_of(figures), draw)


def judge_drawn(
    results: dict[str, TopicResult], chosen: Draw, *, minutes: float, jobs: int | None = None, progress: Progress | None = None
) -> None:
    """Judge the drawn specimens briefly, with one seed, for about this many minutes."""
    chosen.left = judge_all(results, chosen.order, seeds=1, jobs=jobs, briefly=True, progress=progress, seconds=60 * minutes)


def commits_of(figures: Path) -> dict[str, str]:
    """Return the commit at which each topic was certified."""
    if not figures.exists():
        return {}
    stored = json.loads(figures.read_text(encoding="utf-8"))
    return {topic: counts.get("run", stored["run"])["commit"] for topic, counts in stored["topics"].items()}


def choose(specimens: list[Specimen], commits: dict[str, str], draw: int) -> Draw:
    """Sort the specimens into groups, and draw. Each topic's draw is independent of the other topics."""
    topics = dict.fromkeys(s.topic for s in specimens)
    chosen = Draw(draw, {topic: why for topic in topics if (why := changed_input(topic, commits.get(topic)))})
    spread: list[tuple[float, Specimen]] = []
    for topic in topics:
        here = [s for s in specimens if s.topic == topic]
        before = specimens_at(commits.get(topic) or "", topic)
        own = [s for s in here if before.get(s.file) != s.source.rstrip()] if before else []
        rest = random.Random(f"{draw}/{topic}").sample([s for s in here if s not in own], len(here) - len(own))
        chosen.own += own
        if topic in chosen.changed:
            spread += [((place + 0.5) / len(rest), s) for place, s in enumerate(rest)]
        else:
            chosen.others += rest[: round(SHARE * len(rest))]
            chosen.num_others += len(rest)
    chosen.affected = [s for _, s in sorted(spread, key=lambda each: each[0])]
    return chosen


def changed_input(topic: str, commit: str | None) -> str:
    """Return the first input of a topic's verdicts that differs from this commit; "" if none does; a reason if there is no such commit."""
    if not commit:
        return "it never was"
    if not is_commit(commit):
        return f"at {commit!r}, which is not a commit of this repository"
    differ = differing(commit)
    for path in sorted({*verdict_inputs.files(topic), CERTIFIER} & differ):
        if means_otherwise(path, commit):
            return path.as_posix()
    if NUMBERS in differ and numbers(topic, (ROOT / NUMBERS).read_bytes()) != numbers(topic, content_at(commit, NUMBERS) or b""):
        return NUMBERS.as_posix()
    day = find_day(topic)
    lesson_file = (day.folder / "lesson.md").relative_to(day.root)
    if lesson_file in differ and setup_cell((ROOT / lesson_file).read_bytes()) != setup_cell(content_at(commit, lesson_file) or b""):
        return lesson_file.as_posix()
    if LOCK in differ and pins((ROOT / LOCK).read_bytes()) != pins(content_at(commit, LOCK) or b""):
        return LOCK.as_posix()
    return ""


SETUP = re.compile(rb"^```python setup\n(.*?)^```", re.DOTALL | re.MULTILINE)


def setup_cell(lesson: bytes) -> bytes:
    """Return the source of a lesson's setup cell, which runs before every version; b"" if there is none."""
    found = SETUP.search(lesson)
    return found[1] if found else b""


@functools.cache
def means_otherwise(path: Path, commit: str) -> bool:
    before = content_at(commit, path)
    return before is None or meaning(path, before) != meaning(path, (ROOT / path).read_bytes())


def pins(lock: bytes) -> list[str]:
    """Return the versions of the libraries that verdicts depend on."""
    return re.findall(rf"^(?:{'|'.join(LIBRARIES)})==\S+", lock.decode(), flags=re.MULTILINE)


@functools.cache
def is_commit(name: str) -> bool:
    return re.fullmatch("[0-9a-f]{7,40}", name) is not None and _git("cat-file", "-e", f"{name}^{{commit}}") is not None


@functools.cache
def differing(commit: str) -> frozenset[Path]:
    """Return the files that differ from this commit, including new ones, as paths from the checkout's root."""
    listings = (_git("diff", "--name-only", "-z", commit), _git("ls-files", "-z", "--others", "--exclude-standard"))
    return frozenset(Path(name) for listing in listings for name in (listing or b"").decode().split("\0") if name)


def content_at(commit: str, path: Path) -> bytes | None:
    return _git("show", f"{commit}:{path.as_posix()}")


@functools.cache
def specimens_at(commit: str, topic: str) -> dict[str, str]:
    """Return {file: text} of a topic's specimens at this commit, without trailing white space; {} if the commit is unknown."""
    if not is_commit(commit):
        return {}
    folder = SPECIMENS.relative_to(ROOT)
    names = (_git("ls-tree", "-r", "-z", "--name-only", commit, f"{(folder / topic).as_posix()}/") or b"").decode().split("\0")
    with tempfile.TemporaryDirectory() as before:
        (Path(before) / folder / topic).mkdir(parents=True)
        for name in filter(None, names):
            (Path(before) / name).write_bytes(content_at(commit, Path(name)) or b"")
        return {listed.file: listed.text.rstrip() for listed in find_specimens(Path(before) / folder, [topic])}


def _git(*command: str) -> bytes | None:
    """Return the output of a git command, or None if it fails."""
    try:
        return subprocess.run(["git", "-C", str(ROOT), *command], capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
