"""The spread of the race's score from race to race: the course's engine in the student's place, and the starting one.

python benchmarks/race.py              # half an hour; writes benchmarks/results/race.md and its data
python benchmarks/race.py --seeds 1    # a trial; writes nothing
"""

import argparse
import sys
from contextlib import closing
from typing import Any

from common import ROOT, machine, save

sys.path.append(str(ROOT))
from autograder.grading.records import FLOAT32
from autograder.race.baselines import Rivals
from autograder.race.running import RATES, TINY, Outcome, race
from course.kit.threads import one_thread

SEEDS = tuple(range(31, 37))
ENGINES = {"the course's engine": SEEDS, "the starting engine": SEEDS[:2]}
COUNTED = f"""\
Each line is a whole race on tiny, with promises, capacity and requests of its own: {TINY.rounds} rounds of {TINY.num_requests} requests
at each of {len(RATES)} rates. Shares are of the tokens that were asked for, in time, at an eighth to four times the capacity of the
course's engine: those of the engine in the student's place, then the mean of the course's two workers. Times are processor time, read
from outside."""


def raced(name: str, seed: int) -> dict[str, Any]:
    """Run one race of an engine with new workers."""
    outcome = Outcome(seed, TINY.model, FLOAT32)
    with one_thread(), closing(Rivals()) as rivals:
        student = rivals.naive() if name == "the starting engine" else rivals.reference()
        race(student, rivals.reference(), rivals.reference(), outcome)
    shares = [(rate.served, (rate.reference + rate.again) / 2) for rate in outcome.rates]
    return {"engine": name, "seed": seed, "score": outcome.score, "differs": outcome.differs, "no_score": outcome.no_score,
            "shares": shares, "seconds": outcome.seconds}  # fmt: skip


def spread(rows: list[dict[str, Any]]) -> str:
    """Describe the spread of one engine in words."""
    scores = [row["score"] for row in rows if row["score"] is not None]
    summary = f"{len(rows)} races, {len(rows) - len(scores)} inconclusive"
    return summary + (f"; scores from {min(scores):.2f} to {max(scores):.2f}" if scores else "")


def spreads(rows: list[dict[str, Any]]) -> str:
    """Return a line for each engine."""
    return "\n".join(f"- {name}: {spread([row for row in rows if row['engine'] == name])}." for name in ENGINES)


def table(rows: list[dict[str, Any]]) -> str:
    lines = ["| in the student's place | seed | its shares, % | the course's, % | the course's against itself | score |", "|---" * 6 + "|"]
    for row in rows:
        mine, theirs = (", ".join(f"{100 * pair[i]:.0f}" for pair in row["shares"]) for i in (0, 1))
        score = "inconclusive" if row["score"] is None else f"{row['score']:.2f}"
        lines.append(f"| {row['engine']} | {row['seed']} | {mine} | {theirs} | {row['differs']:+.1%} | {score} |")
    return "\n".join(lines)


def page(result: dict[str, Any]) -> str:
    return f"# The race's spread\n\n{table(result['rows'])}\n\n{spreads(result['rows'])}\n\nMeasured on {result['machine']}.\n\n{COUNTED}\n"


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--seeds", type=int, default=len(SEEDS), help="number of races of each engine")
    most = arguments.parse_args().seeds
    where, rows = machine(), []
    for name, seeds in ENGINES.items():
        for seed in seeds[:most]:
            rows.append(raced(name, seed))
            print(table(rows[-1:]).splitlines()[-1], f"{rows[-1]['seconds']:.0f} s", flush=True)
    result = {"machine": where, "rows": rows}
    if most >= len(SEEDS):
        save("race", result, page(result))


if __name__ == "__main__":
    main()
