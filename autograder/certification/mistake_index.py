"""The tables of known mistakes, and the review of the causes that checks name for incorrect versions.

`autograder certify --learn TOPIC` makes the tables of `mistakes.py` from the incorrect specimens, and lists in
`specimens/<topic>/causes.json` which claim of a check was shown for which of them:

    {"reviewed": {"<claim>": ["wrong_x.py", ...]}, "unreviewed": {...}}

A person compares each pair under "unreviewed" with the specimen's mistake and moves it to "reviewed", or fixes the check. `certify` counts
the incorrect versions whose own mistake is named, and fails while a pair is unreviewed or a version gets the name of another's mistake.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from ..base.errors import CourseError
from ..base.files import write_whole
from ..base.specimen_files import SPECIMENS
from ..checking import mistakes

if TYPE_CHECKING:
    from ..base.verdicts import Verdict
    from .certify import Judgement, Specimen

Claims = dict[str, list[str]]


def naming(specimen: Specimen, verdicts: list[Verdict]) -> tuple[bool, list[str]]:
    """Return whether the checks name the mistake of a failing version, and the messages that are wrong or not yet reviewed."""
    found = mistakes.profile(verdicts)
    says = mistakes.recognised(specimen.topic, specimen.exercise, found, hidden=True)
    reasons = [f"reported as another mistake: {says}"] if says and specimen.says not in says else []
    reviewed, _ = read_claims(specimen.topic)
    reasons += [f"not reviewed: {claim}" for claim in claims(verdicts) if specimen.file not in reviewed.get(claim, [])]
    return bool(says and not reasons), reasons


def claims(verdicts: Iterable[Verdict]) -> list[str]:
    """Return the causes that checks claimed, except causes that only describe the values."""
    return list(dict.fromkeys(v.cause for v in verdicts if v.claimed and v.cause))


def claims_path(topic: str) -> Path:
    return SPECIMENS / topic / "causes.json"


@functools.cache
def read_claims(topic: str) -> tuple[Claims, Claims]:
    """Return the reviewed and the unreviewed claims of a topic, each as {claim: files}. Raises CourseError for a malformed file."""
    path = claims_path(topic)
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        return stored["reviewed"], stored["unreviewed"]
    except FileNotFoundError:
        return {}, {}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CourseError(f"{path}: {error}; it must hold `reviewed` and `unreviewed`, each {{claim: [files]}}") from None


def learn(topic: str, judgements: list[Judgement]) -> tuple[int, int]:
    """Write a topic's tables of known mistakes and its list of claims.

    Return the number of distinguishable mistakes, and the number of (claim, version) pairs to review.
    """
    wrong = [j for j in judgements if not j.specimen.right and j.at_notebook_seed]
    for hidden in (False, True):
        rows = []
        for judgement in wrong:
            verdicts = [v for v in judgement.at_notebook_seed if hidden or not v.hidden]
            rows.append((judgement.specimen.exercise, judgement.specimen.file, judgement.specimen.says, mistakes.profile(verdicts)))
        made = mistakes.unchanged(mistakes.table(rows), mistakes.known(topic, hidden))
        path = mistakes.table_path(topic, hidden)
        path.parent.mkdir(exist_ok=True)
        write_whole(path, mistakes.table_text(topic, made).encode())
    before, _ = read_claims(topic)
    reviewed: Claims = {}
    unreviewed: Claims = {}
    for judgement in wrong:
        for claim in claims(judgement.at_notebook_seed):
            place = reviewed if judgement.specimen.file in before.get(claim, []) else unreviewed
            place.setdefault(claim, []).append(judgement.specimen.file)
    stored = {"reviewed": reviewed, "unreviewed": unreviewed}
    write_whole(claims_path(topic), (json.dumps(stored, indent=1, ensure_ascii=False, sort_keys=True) + "\n").encode())
    mistakes.known.cache_clear()
    read_claims.cache_clear()
    return sum(map(len, made.values())), sum(map(len, unreviewed.values()))
