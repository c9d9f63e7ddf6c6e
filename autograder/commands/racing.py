"""The command that races the capstone's engine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

if TYPE_CHECKING:
    from ..race.running import Outcome

console = Console()


def register(app: typer.Typer) -> None:
    app.command()(race)


def race(
    notebook: Annotated[Path | None, typer.Option(help="Another file than work/capstone/capstone.ipynb.")] = None,
    local: Annotated[
        bool, typer.Option("--local", help="Runs your code without walls, for machines that have none; the board says: not verified.")
    ] = False,
    seed: Annotated[int | None, typer.Option(min=0, help="Draws the same requests again; else a new seed is drawn, and told.")] = None,
    name: Annotated[str, typer.Option(help="A pseudonym for the board; without one you stand there without a name.")] = "",
    into: Annotated[Path, typer.Option(help="The folder of the board.")] = Path("build/race"),
    results: Annotated[Path | None, typer.Option(help="Also writes Gradescope's results.json there, with its leaderboard.")] = None,
) -> None:
    """Races your capstone engine against the course's: correctness first (4 points), then goodput, yours over its.

    Both serve the same new requests, at one and two times what the course's engine can do, each in a process of its own. The clock is
    processor time, read from outside. Takes a few minutes. Exit status 1 where there is no score, and the reason in one line.
    """
    import secrets

    from ..grading import zygotes
    from ..race import board, entering

    found = entering.notebook_of(notebook)
    if local:
        zygotes.want("none")
    drawn = secrets.randbits(53) if seed is None else seed
    outcome = entering.enter(entering.student_cells(found), drawn, say=say)
    show(outcome)
    not_verified = entering.verified(local)
    into.mkdir(parents=True, exist_ok=True)
    (into / "race.json").write_text(json.dumps({**outcome.as_data(), "not_verified": not_verified}, indent=1), encoding="utf-8")
    if results is not None:
        from ..exports.gradescope import race_results

        results.write_text(json.dumps(race_results(outcome, not_verified), indent=1, ensure_ascii=False), encoding="utf-8")
    if outcome.score is None:
        raise typer.Exit(1)
    page = board.add(into, board.entry_of(outcome, name, not_verified))
    say(f"the board: {page}" + (f" (not verified: {not_verified})" if not_verified else ""))


def show(outcome: Outcome) -> None:
    for part in outcome.parts:
        say(f"{'right' if part.fault is None else 'WRONG'}  {part.title}" + (f": {part.fault}" if part.fault else ""))
    if outcome.parts:
        say(f"correctness: {outcome.points} of {len(outcome.parts)} points")
    for rate in outcome.rates:
        reference = (rate.reference + rate.again) / 2
        kept = f"{rate.kept:.0%} of requests kept both promises (reference {rate.reference_kept:.0%})"
        say(f"{rate.rate:g}x capacity: {rate.goodput:,.0f} tokens/s, reference {reference:,.0f}; {kept}")
    if outcome.score is not None:
        say(f"score {outcome.score:.2f}; the reference differs from itself by {outcome.differs:+.1%}; seed {outcome.seed}")
    elif outcome.inconclusive:
        say(f"inconclusive: the reference differs from itself by {outcome.differs:+.1%}; race again when less runs beside it")
    else:
        say(f"no score: {outcome.fault}")


def say(line: str) -> None:
    console.print(line, markup=False, highlight=False, soft_wrap=True)
