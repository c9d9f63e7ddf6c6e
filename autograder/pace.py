"""How long an exercise's checks take, to be said before they run.

`python -m autograder.pace` measures the reference and writes `pace.json`: processor seconds, so that other load on the machine that
measured them tells nothing.
"""

from __future__ import annotations

import functools
import json
import time
from collections.abc import Set
from pathlib import Path
from typing import Any

from .grading.near import Near
from .grading.threads import one_thread
from .lessons import syllabus
from .runner import Check, reference, run_checks, select

PATH = Path(__file__).with_name("pace.json")
STEPS = (1, 2, 3, 5, 10, 15, 20, 30, 45, 60, 90, 120)
"""Seconds that are said. Nobody plans by finer ones."""


@functools.cache
def _table() -> dict[str, Any]:
    """{"machine": ..., "exercises": {topic/exercise: [seconds of the checks that do not measure speed, seconds of those that do]}}."""
    try:
        table = json.loads(PATH.read_text(encoding="utf-8"))
        return {"machine": table["machine"], "exercises": dict(table["exercises"])}
    except (OSError, ValueError, KeyError, TypeError):
        return {"machine": "", "exercises": {}}


def table_text(topics: Set[str], table: dict[str, Any] | None = None) -> str:
    """JSON of some topics' figures, a line for each exercise."""
    table = _table() if table is None else table
    chosen = {name: seconds for name, seconds in table["exercises"].items() if name.split("/")[0] in topics}
    rows = ",\n".join(f"  {json.dumps(name)}: {json.dumps(seconds)}" for name, seconds in chosen.items())
    return f'{{"machine": {json.dumps(table["machine"])},\n "exercises": {{\n{rows}\n }}}}\n'


def beforehand(topic: str, exercise: str, checks: list[Check]) -> str:
    """One sentence: how many checks, about how long, and which measure speed."""
    seconds, timed_seconds = _table()["exercises"].get(f"{topic}/{exercise}", (None, None))
    timed = sum(check.timing for check in checks)
    text = f"{exercise}: {len(checks)} check{'s' * (len(checks) != 1)}{about(seconds)}"
    if timed:
        measures = "1 of them measures" if timed == 1 else f"{timed} of them measure"
        text += f"; {measures} speed{about(timed_seconds)}: leave the machine alone meanwhile"
    return text + "."


def about(seconds: float | None) -> str:
    if seconds is None:
        return ""
    if seconds < 0.5:
        return ", under a second"
    return f", about {next((s for s in STEPS if s >= seconds), STEPS[-1])} s"


def measure() -> dict[str, list[float]]:
    """What the reference takes: the "exercises" of the table."""
    found = {}
    with one_thread():
        for day in (day for day in syllabus() if day.ready):
            for exercise in dict.fromkeys(check.exercise for check in select(day.topic, hidden=False)):
                seconds = []
                for timing in (False, True):
                    start = time.process_time()
                    checks = select(day.topic, exercise=exercise, hidden=False, timing=timing)
                    run_checks(day.topic, checks, Near(dict(vars(reference(day.topic)))))
                    seconds.append(round(time.process_time() - start, 2))
                found[f"{day.topic}/{exercise}"] = seconds
                print(f"{day.topic}/{exercise}: {seconds[0]} s, {seconds[1]} s", flush=True)
    return found


def main() -> None:
    from .grading.records import machine_name

    table = {"machine": machine_name(), "exercises": measure()}
    PATH.write_text(table_text({day.topic for day in syllabus()}, table), encoding="utf-8")


if __name__ == "__main__":
    main()
