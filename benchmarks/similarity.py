"""The time of `autograder similar` for a large class, and the copies that it finds.

    python benchmarks/similarity.py [--students 2000] [--copies 20]

The class is made up: each student's answers are lines drawn at random, which differ as much as possible and so make the most work. Some
students have copied, with other names, cells in another order, and every tenth line written differently.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import tempfile
import time
from pathlib import Path

from autograder.gradebook.reports.similarity import alike
from autograder.grading.tasks import find_tasks
from autograder.lessons import find_day, release_notebook_path

DAY = find_day("samplers")
NUM_LINES = 12
"""The lines of an answer: nine exercises have some 2,000 tokens, about twice what the course's own have."""
METHODS = (
    "abs", "add", "amax", "amin", "argmax", "argmin", "argsort", "bool", "clamp", "clone", "cos", "cummax", "cumsum", "detach",
    "diff", "div", "double", "eq", "exp", "expand", "flatten", "flip", "float", "floor", "frac", "gather", "ge", "gt", "index_select",
    "isfinite", "log", "log1p", "logsumexp", "long", "lt", "masked_fill", "max", "maximum", "mean", "median", "min", "minimum",
    "movedim", "mul", "narrow", "ne", "neg", "norm", "permute", "pow", "prod", "reciprocal", "relu", "repeat", "reshape", "round",
    "rsqrt", "scatter", "sigmoid", "sign", "sin", "softmax", "sort", "split", "sqrt", "square", "squeeze", "std", "sub", "sum",
    "tanh", "tile", "topk", "transpose", "tril", "triu", "trunc", "type_as", "unbind", "unfold", "unsqueeze", "var", "view", "where",
)  # fmt: skip
NAMES = "abcdefghij"


def line(rng: random.Random) -> str:
    """Return an assignment of an expression of some 18 tokens."""
    return f"    {rng.choice(NAMES)} = {expression(rng, depth=3)}"


def expression(rng: random.Random, depth: int) -> str:
    if depth == 0:
        return rng.choice((*NAMES, str(rng.randrange(9))))
    one, other = (expression(rng, depth - rng.randint(1, 2) if depth > 1 else 0) for _ in range(2))
    kind = rng.randrange(6)
    if kind == 0:
        return f"({one} {rng.choice('+-*/<>')} {other})"
    if kind == 1:
        return f"{rng.choice(NAMES)}[{one}, {other}]"
    if kind == 2:
        return f"torch.{rng.choice(METHODS)}({one}, {other})"
    return f"{rng.choice(NAMES)}.{rng.choice(METHODS)}({one}).{rng.choice(METHODS)}({other})"


def answers(rng: random.Random, exercises: list[str]) -> dict[str, str]:
    return {name: "\n".join([f"def {name}(a, b, c):", *(line(rng) for _ in range(NUM_LINES)), "    return a"]) for name in exercises}


def copied(rng: random.Random, of: dict[str, str]) -> dict[str, str]:
    """Return a copy of a solution with changed names, one line in ten different, and the exercises in reverse order."""
    found = {}
    for name, source in reversed(of.items()):
        lines = [line(rng) if n and rng.random() < 0.1 else text for n, text in enumerate(source.split("\n"))]
        found[name] = re.sub(r"\b([a-j])\b", r"my_\1", "\n".join(lines))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--students", type=int, default=2000)
    parser.add_argument("--copies", type=int, default=20)
    options = parser.parse_args()
    rng = random.Random(0)
    release = json.loads(release_notebook_path(DAY).read_text(encoding="utf-8"))
    exercises = [cell["id"].removeprefix("exercise-") for cell in release["cells"] if cell["id"].startswith("exercise-")]
    works = [answers(rng, exercises) for _ in range(options.students - options.copies)]
    works += [copied(rng, work) for work in works[: options.copies]]
    with tempfile.TemporaryDirectory() as folder:
        submitted = Path(folder)
        for number, work in enumerate(works):
            cells = [{"cell_type": "code", "id": f"exercise-{name}", "metadata": {}, "source": work[name]} for name in work]
            path = submitted / f"s{number:04d}" / DAY.slug / f"{DAY.slug}.ipynb"
            path.parent.mkdir(parents=True)
            path.write_text(json.dumps({**release, "cells": cells}), encoding="utf-8")
        tasks = list(find_tasks(submitted, [DAY]))
        start = time.process_time()
        found = alike(DAY, tasks)
        seconds = time.process_time() - start
    copied = {(f"s{n:04d}", f"s{options.students - options.copies + n:04d}") for n in range(options.copies)}
    reported = [(pair.first.student, pair.second.student) for pair in found.pairs]
    print(f"{len(works)} submissions of {DAY.slug}: {seconds:.1f} s of processor time on one core")
    print(f"{len(reported)} pairs reported; of {len(copied)} copies {len(copied.intersection(reported))} among them")


if __name__ == "__main__":
    main()
