"""Equivalent mutants, which no caller within the rules can tell from the original, with reasons: `specimens/<topic>/equivalent.toml`.

    [[equivalent]]
    origin = "reference"
    where = "softmax"
    before = "weights = shifted.exp()"
    after = "weights = shifted.exp_()"
    reason = "shifted was made in this function, and nothing reads it afterwards"

`after` is a list if one reason holds for several changes of the same lines. `nth` selects one of several places with the same lines.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ...base.errors import CourseError
from ...base.specimen_files import SPECIMENS
from .mutants import Identity, Mutant

KEYS = {"origin", "where", "before", "after", "nth", "reason"}
FEWEST_WORDS = 5
PHRASES = "is are the it an a same program mutant behaviour behavior equivalent no nothing difference changes todo"
NO_REASON = re.compile(rf"\W*(({PHRASES.replace(' ', '|')})\W*)+", re.IGNORECASE)


@dataclass(frozen=True)
class Equivalent:
    identity: Identity
    reason: str


def path_of(topic: str, folder: Path = SPECIMENS) -> Path:
    return folder / topic / "equivalent.toml"


def read(topic: str, folder: Path = SPECIMENS) -> dict[Identity, str]:
    """Return the reason of each mutant listed. Raises CourseError if an entry is malformed, or has no reason."""
    path = path_of(topic, folder)
    if not path.exists():
        return {}
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8")).get("equivalent", [])
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise CourseError(f"{path}: {error}") from None
    reasons: dict[Identity, str] = {}
    for number, entry in enumerate(entries, 1):
        place = f"{path}: entry {number} ({entry.get('where', '?')}: {entry.get('before', '?')!s:.60})"
        if unknown := set(entry) - KEYS or KEYS - {"nth"} - set(entry):
            raise CourseError(f"{place}: unknown or missing {', '.join(sorted(unknown))}")
        if fault := not_a_reason(entry["reason"]):
            raise CourseError(f"{place}: {fault}")
        for after in [entry["after"]] if isinstance(entry["after"], str) else entry["after"]:
            identity = Identity(entry["origin"], entry["where"], entry["before"], after, entry.get("nth", 1))
            if identity in reasons:
                raise CourseError(f"{place}: listed twice")
            reasons[identity] = entry["reason"].strip()
    return reasons


def not_a_reason(text: str) -> str | None:
    """Return the problem with a reason, or None. A reason must say why no caller can tell the mutant from the original."""
    if len(text.split()) < FEWEST_WORDS or NO_REASON.fullmatch(text):
        return f"{text!r} is not a reason: say why no caller can tell the mutant from the original"
    return None


def as_entries(mutants: Iterable[Mutant]) -> str:
    """Return mutants as entries of the list, with reasons to be filled in. Mutants of the same lines are grouped."""
    together: dict[tuple, list[Mutant]] = {}
    for mutant in mutants:
        i = mutant.identity
        together.setdefault((i.origin, i.where, i.before, i.nth), []).append(mutant)
    entries = []
    for (origin, where, before, nth), group in together.items():
        afters = [quoted(m.identity.after) for m in group]
        lines = [
            "[[equivalent]]",
            f"origin = {quoted(origin)}",
            f"where = {quoted(where)}",
            f"before = {quoted(before)}",
            f"after = {afters[0]}" if len(afters) == 1 else "after = [\n" + "".join(f"    {after},\n" for after in afters) + "]",
            *([f"nth = {nth}"] if nth > 1 else []),
            'reason = ""',
        ]
        entries.append("\n".join(lines))
    return "\n\n".join(entries)


def quoted(text: str) -> str:
    """Return the text as a TOML string, literal if possible."""
    if "'" not in text and "\n" not in text:
        return f"'{text}'"
    if "'''" not in text and "\n" in text:
        return f"'''\n{text}'''"
    return json.dumps(text, ensure_ascii=False)
