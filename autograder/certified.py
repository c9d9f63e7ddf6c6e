"""What certification has found, kept: a specimen is judged again where something that its judgement depends on has changed.

`specimens/<topic>/kept.json` is committed, so that a fresh clone need not judge everything:

    {"right_torch.py": ["<digest>", 3], ...}

The digest is of the specimen and of all that judged it: the checks of its topic, visible and hidden, and the modules that they import;
the modules of grading, the worker's too; what any of these, or a reference, imports of the kit, and the kit's data; the reference of its
topic and of those before; the numbers worked out by hand; limits; versions of Python and of the libraries at work. Any change of any of
these files counts, but for a comment's. 3 is the number of seeds: such a judgement holds where fewer are asked for, and where a brief one
is (see `certify.judge`), of which it is more.

Only what got its due stands there; all else is judged each time. What no digest holds is the machine, and luck. So of what is kept a
tenth is judged all the same, drawn anew each time; where that gives something else than what is kept, it is told as that.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import json
import platform
import random
import secrets
import sys
import tomllib
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from importlib import metadata
from pathlib import Path

from course.kit.paths import ROOT

from . import certify
from .certify import Judgement, Specimen, TopicResult
from .course_table import known_topics
from .files import write_whole
from .grading.canaries import LIBRARIES
from .grading.limits import Limits
from .imports import imported_files, kit_files

SHARE = 0.1
"""Of what is kept, judged all the same; less where somebody asks for less."""
DRAWS = 1_000_000
JUDGES = ("autograder.certify", "autograder.grading.zygote")
"""Where judging begins: in the grader's process, and in the one that workers are forked from."""
NO_JUDGES = ("autograder.lessons", "autograder.learning", "autograder.specimen_files", "autograder.grading.records")
"""They are imported on the way and say nothing of whether a specimen gets its due: where its text stood does not either, nor how a record
of grading is written."""
DATA = (".json", ".jsonl", ".safetensors")
MOST_NAMED = 30
DIFFERS = "kept as having got its due, and nothing it depends on has changed since; now"

Entry = tuple[str, int]
"""The digest, and the number of seeds."""


class Kept:
    """What is kept of the specimens of a folder, and which of them are to be judged.

    draw: which share of those kept is judged all the same; None: a random one. fresh: all of them are.
    """

    def __init__(
        self, folder: Path, *, seeds: int, limits: Limits, draw: int | None = None, fresh: bool = False, share: float = SHARE
    ) -> None:
        self.folder, self.seeds, self.limits, self.fresh, self.share = folder, seeds, limits, fresh, share
        self.draw = secrets.randbelow(DRAWS) if draw is None else draw
        self.judges: dict[str, str] = {}
        self.entries: dict[str, dict[str, Entry]] = {}
        self.new: list[Specimen] = []
        """Not kept, or changed since, or something has that judges them."""
        self.drawn: list[Specimen] = []
        self.left: list[Specimen] = []
        """Kept, and not judged this time."""
        self.unsure: list[str] = []
        """Topics that are not kept: what judges them was changed meanwhile, and nobody knows by which of the two it was judged."""

    def choose(self, specimens: list[Specimen]) -> list[Specimen]:
        """Those to be judged, in order."""
        topics = dict.fromkeys(s.topic for s in specimens)
        self.judges = {topic: judges(topic, self.limits) for topic in topics}
        stored = {topic: read(self.folder, topic) for topic in topics}
        self.entries = {topic: {} for topic in topics}
        chosen = []
        for specimen in specimens:
            entry = stored[specimen.topic].get(specimen.file)
            if entry is None or entry[0] != self.digest(specimen) or entry[1] < self.seeds:
                place = self.new
            else:
                self.entries[specimen.topic][specimen.file] = entry
                again = self.fresh or (is_drawn(specimen, self.draw) and luck(specimen, self.draw) < self.share)
                place = self.drawn if again else self.left
            place.append(specimen)
            if place is not self.left:
                chosen.append(specimen)
        return chosen

    def digest(self, specimen: Specimen) -> str:
        return hashlib.sha256(f"{self.judges[specimen.topic]}\0{specimen.file}\0{specimen.source}".encode()).hexdigest()[:16]

    def note(self, judgement: Judgement) -> None:
        specimen, entries = judgement.specimen, self.entries[judgement.specimen.topic]
        if not judgement.as_due:
            entries.pop(specimen.file, None)
        else:
            entries.setdefault(specimen.file, (self.digest(specimen), self.seeds))

    def write(self) -> None:
        self.unsure = [topic for topic, before in self.judges.items() if judges(topic, self.limits) != before]
        for topic in self.entries.keys() - self.unsure:
            write_whole(kept_path(self.folder, topic), kept_text(self.entries[topic]).encode())

    def tell_differences(self, results: list[TopicResult]) -> None:
        """Says where a judgement is another than the one that is kept."""
        drawn = {(s.topic, s.file) for s in self.drawn}
        for result in results:
            for entry in result.survivors + result.false_failures:
                if (result.topic, entry["file"]) in drawn:
                    entry["reason"] = f"{DIFFERS}: {entry['reason']}"

    def told(self) -> str:
        """How many were judged, why, and which; and the topics that are not kept."""
        drawn, kept = len(self.drawn), len(self.drawn) + len(self.left)
        lines = [f"judged: {len(self.new):,} specimens that are new or changed, or whose judges are, and {drawn:,} of {kept:,} kept ones"]
        if drawn and not self.fresh:
            lines[0] += f" (draw {self.draw})"
        lines += [f"{why}: {which(chosen)}" for why, chosen in (("new or changed", self.new), ("kept", self.drawn)) if chosen]
        lines += [f"{topic}: not kept, for something that judges it was changed meanwhile" for topic in self.unsure]
        return "\n".join(lines)


def which(specimens: list[Specimen]) -> str:
    """Their names, or how many of each topic."""
    if len(specimens) <= MOST_NAMED:
        return ", ".join(f"{s.topic}/{s.file}" for s in specimens)
    return ", ".join(f"{number} of {topic}" for topic, number in Counter(s.topic for s in specimens).items())


def certify_changed(
    topic: str | None = None,
    *,
    folder: Path | None = None,
    seeds: int = 3,
    jobs: int | None = None,
    limits: Limits | None = None,
    begin: Callable[[int], Callable[[int, int, Judgement], None]] | None = None,
    briefly: bool = False,
    draw: int | None = None,
    fresh: bool = False,
    keep: bool = False,
    share: float = SHARE,
) -> tuple[list[TopicResult], Kept]:
    """`certify` of what is not kept, and of a share of what is; the counts are of what was judged.

    begin: is told how many these are, and gives `progress`. keep: what is found is kept, as far as it came; a brief judgement is less than
    what is kept and cannot be.
    """
    if keep and briefly:
        raise ValueError("a brief judgement is not kept")
    folder, limits = folder or certify.SPECIMENS, limits or Limits()
    kept = Kept(folder, seeds=seeds, limits=limits, draw=draw, fresh=fresh, share=share)
    progress: Callable[[int, int, Judgement], None] | None = None

    def choose(specimens: list[Specimen]) -> list[Specimen]:
        nonlocal progress
        chosen = kept.choose(specimens)
        progress = begin(len(chosen)) if begin is not None else None
        return chosen

    def judged(done: int, total: int, judgement: Judgement) -> None:
        kept.note(judgement)
        if progress is not None:
            progress(done, total, judgement)

    try:
        results = certify.certify(
            topic, folder=folder, seeds=seeds, jobs=jobs, limits=limits, progress=judged, briefly=briefly, choose=choose
        )
    finally:
        if keep:
            kept.write()
    kept.tell_differences(results)
    return results, kept


def is_drawn(specimen: Specimen, draw: int) -> bool:
    """The same for a draw whatever else is kept, so that one specimen, or one topic, can be looked at again."""
    return luck(specimen, draw) < SHARE


def luck(specimen: Specimen, draw: int) -> float:
    """From 0 to 1. A smaller share of the same draw is a part of it."""
    return random.Random(f"{draw}/{specimen.topic}/{specimen.file}").random()


def judges(topic: str, limits: Limits, root: Path = ROOT) -> str:
    """A digest of all that a judgement depends on, but the specimen."""
    hand = tomllib.loads((root / "datasets" / "hand_computed.toml").read_text(encoding="utf-8")).get(topic)
    libraries = {name: metadata.version(name) for name in LIBRARIES}
    machine = (sys.platform, platform.machine(), platform.python_version_tuple()[:2])
    digest = hashlib.sha256(repr((topic, hand, libraries, machine, asdict(limits))).encode())
    for path in files(topic, root):
        digest.update(f"\0{path.as_posix()}\0".encode() + hashlib.sha256(what_counts(root / path)).digest())
    return digest.hexdigest()


def what_counts(path: Path) -> bytes:
    """A file's content; of Python what runs, with its docstrings: a comment, or where a line is broken, judges nothing."""
    content = path.read_bytes()
    return _program(content) if path.suffix == ".py" else content


@functools.lru_cache(maxsize=1024)
def _program(source: bytes) -> bytes:
    return ast.dump(ast.parse(source)).encode()


def files(topic: str, root: Path = ROOT) -> list[Path]:
    """What judges a topic's specimens, as paths from root, in an order that is everywhere the same."""
    checks = (f"autograder.checks.test_{topic}", f"autograder.hidden.test_{topic}")
    found = imported_files(root, (*JUDGES, *checks), lambda name: name.startswith(NO_JUDGES))
    topics = known_topics()
    found |= {Path("solutions") / f"{name}.py" for name in ("__init__", *topics[: topics.index(topic) + 1])}
    data = [path for path in (root / "datasets").rglob("*") if path.suffix in DATA and root / "datasets" / "models" not in path.parents]
    return sorted(found | kit_files(root, found) | {path.relative_to(root) for path in data})


def kept_path(folder: Path, topic: str) -> Path:
    return folder / topic / "kept.json"


def read(folder: Path, topic: str) -> dict[str, Entry]:
    """What is kept of a topic. What cannot be read as that is as if it were not there: it costs a judgement, no more."""
    try:
        stored = json.loads(kept_path(folder, topic).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return {file: (entry[0], entry[1]) for file, entry in stored.items() if is_entry(entry)} if isinstance(stored, dict) else {}


def is_entry(entry: object) -> bool:
    return isinstance(entry, list) and [type(part) for part in entry] == [str, int]


def kept_text(entries: dict[str, Entry]) -> str:
    """JSON with a line for each specimen: for git to compare."""
    lines = (f"{json.dumps(file)}: {json.dumps(entry)}" for file, entry in sorted(entries.items()))
    return "{\n" + ",\n".join(lines) + "\n}\n"
