"""The duration of an exercise's checks, shown before they run. `certification/pace.py` measures it."""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence, Set
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..base.wording import agreeing, counted

if TYPE_CHECKING:
    from ..checking.runner import Check

PATH = Path(__file__).with_name("pace.json")
STEPS = (1, 2, 3, 5, 10, 15, 20, 30, 45, 60, 90, 120)
"""The durations in seconds that are shown. Nobody plans by finer ones."""


@functools.cache
def _table() -> dict[str, Any]:
    """Return {"machine": ..., "exercises": {topic/exercise: [seconds of untimed checks, seconds of timing checks]}}."""
    try:
        table = json.loads(PATH.read_text(encoding="utf-8"))
        return {"machine": table["machine"], "exercises": dict(table["exercises"])}
    except (OSError, ValueError, KeyError, TypeError):
        return {"machine": "", "exercises": {}}


def table_text(topics: Set[str], table: dict[str, Any] | None = None) -> str:
    """Return JSON of some topics' figures, a line for each exercise."""
    table = _table() if table is None else table
    chosen = {name: seconds for name, seconds in table["exercises"].items() if name.split("/")[0] in topics}
    rows = ",\n".join(f"  {json.dumps(name)}: {json.dumps(seconds)}" for name, seconds in chosen.items())
    return f'{{"machine": {json.dumps(table["machine"])},\n "exercises": {{\n{rows}\n }}}}\n'


def beforehand(topic: str, exercise: str, checks: Sequence[Check]) -> str:
    """Return one sentence: the number of checks, the approximate time, and which checks are timing checks."""
    seconds, timed_seconds = _table()["exercises"].get(f"{topic}/{exercise}", (None, None))
    timed = sum(check.timing for check in checks)
    text = f"{exercise}: {counted(len(checks), 'check')}{about(seconds)}"
    if timed:
        measures = f"{timed} of them {agreeing(timed, 'measures', 'measure')}"
        text += f"; {measures} speed{about(timed_seconds)}: leave the machine alone meanwhile"
    return text + "."


def about(seconds: float | None) -> str:
    if seconds is None:
        return ""
    if seconds < 0.5:
        return ", under a second"
    return f", about {next((s for s in STEPS if s >= seconds), STEPS[-1])} s"
