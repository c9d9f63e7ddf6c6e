"""Known mistakes, and their recognition in an answer.

Certification runs every incorrect specimen through the checks of its exercise, with NOTEBOOK_SEED, and saves for each failed check a
fingerprint of the values it saw: a few rounded numbers, no answer. An answer is recognised if *all* that the exercise's checks see of it
matches one known mistake: the same checks fail, and each with the same values. A partial match would be a guess.

    {"<exercise>": [{"says": ["..."], "files": ["wrong_x.py"], "checks": {"<check>": fingerprint}}]}

autograder/checking/checks/mistakes/<topic>.json holds the fingerprints of the visible checks, and travels with the notebooks;
autograder/checking/hidden/mistakes/<topic>.json holds those of all checks.
"""

from __future__ import annotations

import functools
import hashlib
import json
import math
import re
from collections.abc import Callable, Iterable, Set
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ..base.errors import CourseError
from ..base.verdicts import Verdict

NOTEBOOK_SEED = 0
"""Seed of a notebook's inputs and of the saved fingerprints."""
TOLERANCE = 2e-5
"""Tolerance as a share of a fingerprint's scale: another machine adds in another order."""
MOST_SAID = 2
"""Maximum number of different mistakes with the same fingerprints; beyond it none is named."""
ROOT = Path(__file__).parent

Fingerprint = list[Any]
Profile = dict[str, Fingerprint]
Known = dict[str, list[dict[str, Any]]]


def fingerprint(values: Any) -> Fingerprint:
    """Return a few numbers that identify values, as JSON data. Text and other objects give a hash."""
    if isinstance(values, bool) or values is None:
        return ["is", str(values)]
    if isinstance(values, int | float):
        return ["number", *_rounded(torch.tensor([float(values)], dtype=torch.float64))]
    if isinstance(values, Tensor):
        if values.is_complex():
            values = torch.view_as_real(values)
        kind = str(values.dtype).removeprefix("torch.")
        return [kind, list(values.shape), *_rounded(values.detach().cpu().to(torch.float64).flatten())]
    return ["text", hashlib.sha256(_plain(values).encode(errors="backslashreplace")).hexdigest()[:12]]


def _rounded(x: Tensor) -> list[Any]:
    """Return [counts of nan, inf and -inf; three weighted sums of the finite numbers; the scale of these sums]."""
    finite = torch.where(x.isfinite(), x, 0.0)
    place = torch.arange(1, len(x) + 1, dtype=torch.float64)
    weights = (torch.ones_like(place), (place * 0.7548776662).frac() + 0.5, (place * place * 0.5698402910).frac() + 0.5)
    sums = [float(f"{float((finite * w).sum()):.8g}") for w in weights]
    counts = [int(x.isnan().sum()), int((x == math.inf).sum()), int((x == -math.inf).sum())]
    scale = float(f"{float(finite.abs().sum()):.3g}")
    return [counts, sums if all(map(math.isfinite, sums)) else [str(s) for s in sums], scale if math.isfinite(scale) else str(scale)]


def _plain(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(_plain, value)) + "]"
    if isinstance(value, dict):
        return "{" + ",".join(f"{k}:{_plain(v)}" for k, v in value.items()) + "}"
    return str(value) if isinstance(value, str | int | None) else getattr(value, "type_name", type(value).__name__)


def alike(one: Any, other: Any) -> bool:
    """Return whether two fingerprints are of the same values."""
    if not (isinstance(one, list) and isinstance(other, list) and len(one) == len(other)):
        return bool(one == other)
    if len(one) >= 3 and isinstance(one[-2], list) and isinstance(other[-2], list) and _are_numbers(one[-2:], other[-2:]):
        near = TOLERANCE * max(abs(one[-1]), abs(other[-1])) + 1e-9
        sums = zip(one[-2], other[-2], strict=True)
        return one[:-2] == other[:-2] and len(one[-2]) == len(other[-2]) and all(abs(a - b) <= near for a, b in sums)
    return all(alike(a, b) for a, b in zip(one, other, strict=True))


def _are_numbers(*ends: list[Any]) -> bool:
    return all(isinstance(v, int | float) for sums, scale in ends for v in (*sums, scale))


def what_was_seen(outcome: str, what: str, values: Any) -> Fingerprint:
    """Return the fingerprint of a failed check. what: the check's sentence or an exception's name.

    Digits are ignored, and with them whether a noun or a verb agrees with 1.
    """
    what = re.sub(r"[\d.,-]+", "#", what)
    what = re.sub(r"# (token|block|row|time)\b", r"# \1s", what).replace("(# of # differs)", "(# of # differ)")
    return [outcome, what, fingerprint(values)]


def profile(verdicts: Iterable[Verdict]) -> Profile:
    """Return {check: fingerprint} of the failed checks, without timing checks, because measured times always differ."""
    return {v.check: v.seen or [v.outcome] for v in verdicts if v.failed and not v.timing}


def tells(found: Profile) -> bool:
    """Return whether a profile is enough to recognise a mistake, because it has values, not only an exception or a missing result."""
    for kind, *rest in found.values():
        if kind == "fail" and rest and (values := rest[-1])[0] != "is":
            sums = values[-2] if len(values) >= 3 else None
            if values[0] in ("text", "number") or (isinstance(sums, list) and any(sums)):
                return True
    return False


def recognised(topic: str, exercise: str, found: Profile, *, hidden: bool) -> list[str]:
    """Return the sentences of the known mistakes with this profile; [] if there is none, or too many to name."""
    if not tells(found):
        return []
    says: list[str] = []
    for mistake in known(topic, hidden).get(exercise, []):
        checks = mistake["checks"]
        if checks.keys() == found.keys() and all(alike(found[name], checks[name]) for name in checks):
            says += [text for text in mistake["says"] if text not in says]
    return says if len(says) <= MOST_SAID else []


def table_path(topic: str, hidden: bool) -> Path:
    return ROOT / ("hidden" if hidden else "checks") / "mistakes" / f"{topic}.json"


@functools.cache
def known(topic: str, hidden: bool) -> Known:
    """Return the committed table of a topic; empty if there is none (the hidden one is not handed out). Raises CourseError."""
    path = table_path(topic, hidden)
    try:
        return dict(json.loads(path.read_text(encoding="utf-8"))["exercises"])
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CourseError(f"{path}: {error}; regenerate it with `autograder certify --learn {topic}`") from None


def table(profiles: Iterable[tuple[str, str, str, Profile]]) -> Known:
    """Return the table from (exercise, file, sentence, profile) of each incorrect solution; equal profiles share an entry.

    Profiles that are not enough to recognise a mistake are left out.
    """
    made: Known = {}
    for exercise, file, says, found in sorted(profiles, key=lambda each: each[:2]):
        if not tells(found):
            continue
        mistakes = made.setdefault(exercise, [])
        same = next((m for m in mistakes if m["checks"].keys() == found.keys() and alike_all(m["checks"], found)), None)
        if same is None:
            mistakes.append({"says": [says], "files": [file], "checks": found})
        else:
            same["files"].append(file)
            same["says"] += [says] if says not in same["says"] else []
    return made


def unchanged(made: Known, before: Known) -> Known:
    """Return the table with the earlier table's numbers where the two agree, so that another machine's rounding changes no line."""
    for exercise, mistakes in made.items():
        earlier = {file: mistake["checks"] for mistake in before.get(exercise, []) for file in mistake["files"]}
        for mistake in mistakes:
            for name, found in mistake["checks"].items():
                old = earlier.get(mistake["files"][0], {}).get(name)
                if old is not None and alike(found, old):
                    mistake["checks"][name] = old
    return made


def alike_all(one: Profile, other: Profile) -> bool:
    return all(alike(one[name], other[name]) for name in one)


def table_text(topic: str, exercises: Known) -> str:
    """Return the table as JSON with a line for each mistake, for git to compare."""
    lines = []
    for exercise, mistakes in sorted(exercises.items()):
        rows = ",\n    ".join(json.dumps(m, ensure_ascii=False) for m in mistakes)
        lines.append(f'  {json.dumps(exercise)}: [\n    {rows}\n  ]')
    body = ",\n".join(lines)
    return f'{{\n "topic": {json.dumps(topic)},\n "exercises": {{\n{body}\n }}\n}}\n'


def name_known_mistakes(
    topic: str,
    verdicts: list[Verdict],
    *,
    hidden: bool,
    again: Callable[[str], list[Verdict]] | None = None,
    unknown: Set[str] = frozenset(),
) -> None:
    """Name a known mistake at the first failed check of each exercise, and report nothing twice.

    hidden: the verdicts include hidden checks. again(exercise): returns the exercise's verdicts with NOTEBOOK_SEED, if these verdicts were
    made with another seed. unknown: names of a class's own checks, which the tables do not contain. Such checks keep their own causes.
    """
    for exercise in dict.fromkeys(v.exercise for v in verdicts):
        here = [v for v in verdicts if v.exercise == exercise]
        failed = [v for v in here if v.failed and not v.timing]
        if not failed:
            continue
        in_table = [v for v in here if v.check not in unknown]
        found = profile(again(exercise) if again is not None and tells(profile(in_table)) else in_table)
        if says := recognised(topic, exercise, found, hidden=hidden):
            explained = [v for v in failed if v.check not in unknown]
            first = next((v for v in explained if v.outcome == "fail"), explained[0])
            text = " Or: ".join(_sentence(each) for each in says)
            first.cause = f"Your output matches a known mistake: {text}"
            for verdict in explained:
                if verdict is not first:
                    verdict.cause, verdict.same_as = None, first.title
        _tell_once(failed)


def _sentence(text: str) -> str:
    return text if text.endswith((".", "?", ")")) else text + "."


def _tell_once(failed: list[Verdict]) -> None:
    """Report each piece of evidence only at the first check that met it."""
    first_titles: dict[tuple[str, ...], str] = {}
    for verdict in failed:
        for evidence in _evidence(verdict):
            first = first_titles.setdefault(evidence, verdict.title)
            if first != verdict.title:
                verdict.cause, verdict.same_as = None, verdict.same_as or first


def _evidence(verdict: Verdict) -> Iterable[tuple[str, ...]]:
    if verdict.cause:
        yield ("cause", verdict.cause)
    if verdict.message.startswith("the result is not a tensor"):
        yield ("type", verdict.message, verdict.got or "")
