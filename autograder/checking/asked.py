"""The rules of each exercise, and the checks that test them ("ask" them).

`rules/<topic>.toml` lists the rules of docstring and lesson for each exercise, in sentences that students may read:

    [[softmax]]
    rule = "Logits of 1e4 and -1e4 give neither inf nor nan."
    kind = "size"
    broken_by = ["wrong_softmax_no_max.py"]

`broken_by` names incorrect versions that break this rule and as little else as possible, the purest first. The checks that ask the rule
are those that all these versions fail, by the tables of known mistakes. So the list of checks is proved, and follows every change of a
check. The tables lack versions that differ from a correct one only by an exception or in speed; for such a version, name the checks:

    checks = ["test_entropy_refuses_integers", "test_entropy_refused_dtypes"]

`lacks = "visible"` marks a rule that no visible check asks yet, `lacks = "hidden"` one that no hidden check asks yet.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..base.errors import CourseError
from . import mistakes
from .runner import Check, load_checks

FOLDER = Path(__file__).parent / "rules"
KINDS = ("value", "shape", "dtype", "raises", "default", "border", "size", "alias", "mode", "state", "order", "work", "speed")
"""The kinds of rules. alias: nothing of the caller's is written or given back; mode: gradients, devices; state: of objects, over calls."""


@dataclass(frozen=True)
class Rule:
    """A rule of an exercise, with the checks that test it."""

    exercise: str
    says: str
    kind: str
    broken_by: tuple[str, ...]
    visible: tuple[Check, ...]
    hidden: tuple[Check, ...]
    lacks: str | None = None


@functools.cache
def rules(topic: str) -> tuple[Rule, ...]:
    """Return the rules of a topic, in the order of the file. Raises CourseError, with the file's name."""
    path = FOLDER / f"{topic}.toml"
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return ()
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise CourseError(f"{path}: {error}") from None
    checks = {check.name: check for check in load_checks(topic)}
    failed = _failed_checks(topic)
    return tuple(_rule(f"{path}, {exercise}", exercise, entry, checks, failed) for exercise, entries in tables.items() for entry in entries)


def _failed_checks(topic: str) -> dict[str, set[str]]:
    """Return {file of an incorrect version: the checks that it fails}, according to the tables of known mistakes."""
    return {file: set(row["checks"]) for rows in mistakes.known(topic, hidden=True).values() for row in rows for file in row["files"]}


def _rule(where: str, exercise: str, entry: Mapping[str, object], checks: Mapping[str, Check], failed: Mapping[str, set[str]]) -> Rule:
    says, kind, files, names = (entry.get(name) for name in ("rule", "kind", "broken_by", "checks"))
    if not isinstance(says, str) or entry.keys() - {"rule", "kind", "broken_by", "checks", "lacks"}:
        raise CourseError(f"{where}: an entry needs rule, kind and broken_by, and checks and lacks if they apply: {dict(entry)}")
    where = f"{where}: {says!r}"
    if kind not in KINDS:
        raise CourseError(f"{where}: kind must be one of {', '.join(KINDS)}, got {kind!r}")
    if not isinstance(files, list) or not files:
        raise CourseError(f"{where}: broken_by must name at least one incorrect version")
    if names is None:
        if unknown := [file for file in files if file not in failed]:
            raise CourseError(f"{where}: the tables of known mistakes do not have {', '.join(unknown)}: name the rule's checks")
        names = set.intersection(*(failed[file] for file in files))
    if not isinstance(names, list | set):
        raise CourseError(f"{where}: checks must be a list of names, got {names!r}")
    if unknown := [str(name) for name in names if name not in checks]:
        raise CourseError(f"{where}: no such check: {', '.join(unknown)}")
    if other := [name for name in names if checks[name].exercise != exercise]:
        raise CourseError(f"{where}: {', '.join(other)} checks another exercise: name checks of {exercise}")
    of_rule = [check for check in checks.values() if check.name in names]
    visible, hidden = (tuple(check for check in of_rule if check.hidden == is_hidden) for is_hidden in (False, True))
    lacks = "visible" if not visible else "hidden" if not hidden else None
    if entry.get("lacks") != lacks:
        tested_by = ", ".join(sorted(names)) or "no check"
        raise CourseError(f"{where}: lacks must be {lacks!r}, got {entry.get('lacks')!r}: the rule is tested by {tested_by}")
    return Rule(exercise, says, str(kind), tuple(files), visible, hidden, lacks)
