"""The fairness of timing checks: each check runs many times on correct and on slow versions, on a quiet and on a busy machine.

python benchmarks/timing.py --load quiet      # writes benchmarks/results/timing.md and its data
python benchmarks/timing.py --load busy       # adds to them: as many busy processes beside it as there are cores
python benchmarks/timing.py --load quiet --versions right --check test_a_step_hardly_grows    # only these rows again; the others remain
python benchmarks/timing.py --load busy --at-once 2     # two of the rows at a time: sooner done, and busier still
python benchmarks/timing.py --load quiet --runs 25 --add    # 25 runs more for each existing row
"""

import argparse
import itertools
import json
import multiprocessing
import os
import statistics
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from typing import Any

from common import RESULTS, ROOT, processor, save

sys.path.append(str(ROOT))
from autograder.authoring import CheckFailed
from autograder.base.course_table import earlier_sources, solution_source
from autograder.base.specimen_files import SPECIMENS, find_specimens
from autograder.certification.certify import read_specimen, specimen_named
from autograder.checking.runner import Check, fixtures, load_checks
from autograder.lessons import syllabus
from autograder.sandbox.measure.timing import Inconclusive, Race
from autograder.sandbox.process.remote_student import Cell, RemoteStudent

SLOW = {
    "test_faster_than_without_a_cache": ("wrong_generate_no_cache.py", "wrong_forward_recomputes_old_ids.py"),
    "test_a_step_hardly_grows": ("wrong_forward_recomputes_old_ids.py", "wrong_forward_turns_old_keys_one_by_one.py"),
    "test_sixteen_rows_at_once": ("wrong_generate_batch_row_by_row.py", "wrong_generate_batch_cache_for_each_row.py"),
}
"""The specimens for each timing check: they give the right answer, and the check should catch them."""
WORDS = """\
Each run starts a new worker with one version and holds it against one check. A right version must never fail, a slow one never
pass. An inconclusive run is not a verdict: grading measures it again with more rounds, then asks a person. "Ratio" is the version's
processor time over the reference's (for growth: of the long over the short), against the limit of that run."""


def busy_loop() -> None:
    """Run work that competes for processor and caches alike."""
    import torch

    torch.set_num_threads(1)
    a, b = torch.randn(700, 700), torch.randn(8_000_000)
    while True:
        a @ a
        b.sum()


@contextmanager
def load(kind: str) -> Iterator[None]:
    """Occupy all cores with other work; do nothing for the kind without load."""
    processes = [multiprocessing.get_context("spawn").Process(target=busy_loop, daemon=True) for _ in range(os.cpu_count() or 1)]
    if kind == "busy":
        for process in processes:
            process.start()
        time.sleep(5)
    try:
        yield
    finally:
        for process in processes:
            if process.pid is not None:
                process.kill()


def versions(topic: str, check: Check, *, right: bool) -> dict[str, str]:
    """Return {name: source to run after the reference} of a check's correct or slow versions."""
    if right:
        found = [read_specimen(listed) for listed in find_specimens(SPECIMENS, [topic]) if listed.right]
        chosen = [s for s in found if s.exercise == check.exercise][:4]
        return {"reference": "", **{s.file: s.source for s in chosen}}
    return {name: specimen_named(name, topic).source for name in SLOW[check.name]}


def once(topic: str, check: Check, source: str) -> dict[str, Any]:
    """Run a check once and return its outcome, ratios, limit and seconds."""
    start = time.perf_counter()
    cells = [Cell("reference", solution_source(topic)), Cell("version", source)]
    far = RemoteStudent(topic, cells, earlier_sources(topic))
    given = fixtures(topic, check, far, 0)
    race: Race = given["race"]
    try:
        far.start()
        check.function(**given)
        outcome = "pass"
    except CheckFailed:
        outcome = "fail"
    except Inconclusive:
        outcome = "inconclusive"
    finally:
        far.close()
    return {"outcome": outcome, "ratios": race.ratios, "limit": race.limit, "seconds": time.perf_counter() - start}


def wanted_rows(kinds: list[str], only: list[str]) -> Iterator[tuple[str, str, bool]]:
    """Yield (topic, check, True for correct versions)."""
    for day in syllabus():
        for check in load_checks(day.topic) if day.ready else ():
            if check.timing and (not only or check.name in only):
                yield from ((day.topic, check.name, kind == "right") for kind in kinds)


def experiment(topic: str, name: str, right: bool, runs: int) -> dict[str, Any]:
    """Return the table row of one check and one kind of version."""
    check = next(check for check in load_checks(topic) if check.name == name)
    turns = itertools.cycle(versions(topic, check, right=right).items())
    start = time.perf_counter()
    done = [{"version": version, **once(topic, check, source)} for version, source in itertools.islice(turns, runs)]
    where = {"machine": processor(), "load": os.getloadavg()[2], "seconds": time.perf_counter() - start}
    return {"topic": topic, "check": name, "right": right, **where, "runs": done}


def place(row: dict[str, Any]) -> tuple[str, str, bool]:
    """Return the sort key of a row: by day, correct versions first."""
    return row["topic"] != "kv_cache", row["check"], not row["right"]


def line(row: dict[str, Any]) -> str:
    runs = row["runs"]
    outcomes = Counter(run["outcome"] for run in runs)
    middles = [statistics.median(run["ratios"]) for run in runs if run["ratios"]]
    ratio = f"{min(middles):.2f} to {max(middles):.2f}" if middles else "stopped at the time limit"
    limits = [run["limit"] for run in runs if run["ratios"]]
    limit = f"{min(limits):.1f} to {max(limits):.1f}" if limits else ""
    kind = "right" if row["right"] else "slow"
    counts = " | ".join(str(outcomes[name]) for name in ("pass", "fail", "inconclusive"))
    names = len({run["version"] for run in runs})
    seconds = statistics.median(run["seconds"] for run in runs)
    return f"| {row['topic']} {row['check']} | {kind} ({names} versions) | {counts} | {ratio} | {limit} | {seconds:.1f} |"


def page(result: dict[str, Any]) -> str:
    lines = ["# Timing checks: right versions never fail, slow ones never pass", ""]
    for kind in sorted(result, reverse=True):
        rows = sorted(result[kind]["rows"], key=place)
        where = dict.fromkeys(f"{row['machine']}; {row['beside']}." for row in rows)
        loads = [row["load"] for row in rows]
        lines += [f"## {kind}", "", *where, f"Load average at the end of a row: {min(loads):.1f} to {max(loads):.1f}.", ""]
        lines += ["| check | versions | pass | fail | inconclusive | median ratio of a run | limit | seconds a run |"]
        lines += ["|---|---|---:|---:|---:|---|---|---:|"]
        lines += [line(row) for row in rows]
        lines.append("")
    return "\n".join([*lines, WORDS])


def main() -> int:
    parser = argparse.ArgumentParser(description=WORDS)
    parser.add_argument("--load", choices=("quiet", "busy"), required=True)
    parser.add_argument("--runs", type=int, default=100, help="runs of each check on right versions, and as many on slow ones")
    parser.add_argument("--check", nargs="*", default=[], help="these checks only")
    parser.add_argument("--versions", nargs="*", choices=("right", "slow"), default=["right", "slow"], help="these versions only")
    parser.add_argument("--add", action="store_true", help="add to rows that are there, instead of measuring them again")
    parser.add_argument("--at-once", type=int, default=1, help="rows that are measured at the same time, each in a process of its own")
    arguments = parser.parse_args()
    beside = ["nothing"] if arguments.load == "quiet" else [f"{os.cpu_count()} busy processes"]
    beside += [f"{arguments.at_once - 1} more such experiment"] if arguments.at_once > 1 else []
    path = RESULTS / "data" / "timing.json"
    wrong = 0
    with load(arguments.load), ProcessPoolExecutor(arguments.at_once, multiprocessing.get_context("spawn")) as pool:
        under_way = [pool.submit(experiment, *each, arguments.runs) for each in wanted_rows(arguments.versions, arguments.check)]
        for future in as_completed(under_way):
            row = {**future.result(), "beside": "beside it " + " and ".join(beside)}
            print(line(row), flush=True)
            result = json.loads(path.read_text()) if path.exists() else {}
            rows = result.setdefault(arguments.load, {"rows": []})["rows"]
            if arguments.add:
                row["runs"] = [run for known in rows if place(known) == place(row) for run in known["runs"]] + row["runs"]
            rows[:] = [known for known in rows if place(known) != place(row)] + [row]
            save("timing", result, page(result))
            wrong += sum(run["outcome"] == ("fail" if row["right"] else "pass") for run in row["runs"])
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
