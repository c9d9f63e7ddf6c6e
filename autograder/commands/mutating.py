"""`autograder certify --mutate`: mutation testing, and its report."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ..base.errors import CourseError
from ..base.files import write_whole
from ..base.wording import counted
from .grading import console, progress_bar, say, stderr

if TYPE_CHECKING:
    from ..certification.mutation.judge import Mutation

EVERY = 100


def judge_mutants(
    topic: str | None,
    exercise: str | None,
    origin: str,
    share: int,
    specimens: Path | None,
    jobs: int | None,
    survivors: bool,
    as_json: bool,
    into: Path | None,
) -> None:
    """Judge mutants and report. Exit with status 1 if one survives, or if an entry of an equivalent mutant is stale."""
    from ..base.course_table import known_topics
    from ..base.specimen_files import SPECIMENS
    from ..certification.certify import circumstances, require_commit
    from ..certification.mutation import equivalent, judge
    from ..site.mutants import read

    if into and exercise:
        raise CourseError("--into stores results of whole topics: leave --exercise out")
    if into:
        require_commit()
    results = []
    for name in [topic] if topic else known_topics():
        with ExitStack() as stack:
            begin = partial(progress_of, stack, name)
            whose = partial(judge.run, name, exercise=exercise, origin=origin, share=share)
            results.append(whose(folder=specimens or SPECIMENS, jobs=jobs, begin=begin))
    figures = {"run": circumstances(), "origin": origin, "share": share, **judge.as_json(results)} if into or as_json else {}
    if into:
        older = read(into) if into.exists() else figures
        write_whole(into, (json.dumps(judge.joined(older, figures), indent=2, ensure_ascii=False) + "\n").encode())
    if as_json:
        print(json.dumps(figures, indent=2, ensure_ascii=False))
    elif survivors:
        print("\n\n".join(equivalent.as_entries(r.surviving) for r in results if r.surviving))
    else:
        print_mutants(results)
    if not all(r.clean for r in results):
        raise typer.Exit(1)


def progress_of(stack: ExitStack, topic: str, total: int) -> Callable[[], None]:
    """Return a function to call after each mutant. It advances a bar, or without a terminal prints a line every hundred mutants."""
    advance, done = stack.enter_context(progress_bar(f"mutants of {topic}", total)), count(1)

    def judged() -> None:
        advance()
        if (number := next(done)) % EVERY == 0 and not stderr.is_terminal:
            say(f"{number:,} of {counted(total, 'mutant')} of {topic} judged")

    return judged


def print_mutants(results: list[Mutation]) -> None:
    from rich.table import Table

    table = Table(title="Mutants")
    for column in ("topic", "exercise", "made", "killed", "equivalent", "surviving"):
        table.add_column(column, justify="left" if column in ("topic", "exercise") else "right")
    for r in results:
        for name in dict.fromkeys(o.mutant.exercise for o in r.outcomes):
            table.add_row(r.topic, name, *map(str, r.counts(name).values()))
        table.add_row(r.topic, "all", *map(str, r.counts().values()), style="bold")
    console.print(table)
    if left_out := sum(r.left_out for r in results):
        print(f"{left_out:,} more mutants of correct solutions were not judged: --share 1 judges all")
    for r in results:
        for m in r.surviving:
            print(f"survivor: {r.topic}/{m.identity.origin}: {m.identity.where} ({m.operator})")
            for sign, text in (("-", m.identity.before), ("+", m.identity.after)):
                print("\n".join(f"    {sign} {line}" for line in text.split("\n")))
        for identity, why in r.stale:
            print(f"stale entry: {r.topic}/{identity.origin}: {identity.where}: {why}\n    - {identity.before}\n    + {identity.after}")
