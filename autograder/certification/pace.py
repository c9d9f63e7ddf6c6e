"""The measurement of how long the reference takes for each exercise's checks. `python -m autograder.certification.pace` runs it.

It writes `autograder/notebook/pace.json`, in processor seconds, so that other load on the machine does not change them.
"""

from __future__ import annotations

import time

from course.kit.threads import one_thread

from ..checking.runner import reference, run_checks, select
from ..grading.records import machine_name
from ..lessons import syllabus
from ..notebook.durations import PATH, table_text
from ..sandbox.process.local import LocalStudent


def measure() -> dict[str, list[float]]:
    """Measure the reference's seconds for each exercise, without and with timing checks."""
    found = {}
    with one_thread():
        for day in (day for day in syllabus() if day.ready):
            for exercise in dict.fromkeys(check.exercise for check in select(day.topic, hidden=False)):
                seconds = []
                for timing in (False, True):
                    start = time.process_time()
                    checks = select(day.topic, exercise=exercise, hidden=False, timing=timing)
                    run_checks(day.topic, checks, LocalStudent(dict(vars(reference(day.topic)))))
                    seconds.append(round(time.process_time() - start, 2))
                found[f"{day.topic}/{exercise}"] = seconds
                print(f"{day.topic}/{exercise}: {seconds[0]} s, {seconds[1]} s", flush=True)
    return found


def main() -> None:
    table = {"machine": machine_name(), "exercises": measure()}
    PATH.write_text(table_text({day.topic for day in syllabus()}, table), encoding="utf-8")


if __name__ == "__main__":
    main()
