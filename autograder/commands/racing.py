"""The command that races the capstone's engine."""

from __future__ import annotations

import enum
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from ..lessons.notebooks import CAPSTONE

if TYPE_CHECKING:
    from ..race.running import Outcome

console = Console()
NOBODY = "nobody"
"""The owner of a record if no student is named."""


class Model(enum.StrEnum):
    tiny = "tiny"
    smollm2 = "smollm2"


class Board(enum.StrEnum):
    float32 = "float32"
    quantized = "quantized"


def register(app: typer.Typer) -> None:
    app.command()(race)


def race(
    notebook: Annotated[Path | None, typer.Option(help="Notebook; default: work/capstone/capstone.ipynb.")] = None,
    model: Annotated[Model, typer.Option(help="Model of the race; smollm2 takes several times as long for fewer requests.")] = Model.tiny,
    board: Annotated[
        Board, typer.Option(help="float32: every token must be the model's. quantized: tokens must be close on average; see docs/race.md.")
    ] = Board.float32,
    local: Annotated[
        bool, typer.Option("--local", help="Run your code without isolation, on machines that have none; the board says: not verified.")
    ] = False,
    seed: Annotated[int | None, typer.Option(min=0, help="Repeat the requests of this seed; default: a new one, which is printed.")] = None,
    name: Annotated[str, typer.Option(help="Pseudonym for the board; default: an entry without a name.")] = "",
    into: Annotated[Path, typer.Option(help="Folder of the board.")] = Path("build/race"),
    results: Annotated[Path | None, typer.Option(help="Also write Gradescope's results.json there, with its leaderboard.")] = None,
    student: Annotated[
        str | None, typer.Option(help="For an instructor: race submitted/STUDENT/capstone/capstone.ipynb, and store a record.")
    ] = None,
    submitted: Annotated[Path, typer.Option(help="With --student, the folder of submissions.")] = Path("submitted"),
) -> None:
    """Race your capstone engine against the course's: correctness (4 points), then goodput. Takes minutes; exit status 1: no score."""
    from ..race import board as boards
    from ..race import entry

    found = entry.notebook_of(notebook if student is None else notebook_handed_in(notebook, submitted, student))
    outcome = enter(found, model, board, local, seed)
    show(outcome)
    not_verified = entry.verified(local)
    write_result(into, outcome, not_verified)
    write_records(outcome, found, student, submitted, results, not_verified)
    if outcome.score is None:
        raise typer.Exit(1)
    page = boards.add(into, boards.entry_of(outcome, name, not_verified))
    say(f"the board: {page}" + (f" (not verified: {not_verified})" if not_verified else ""))


def notebook_handed_in(notebook: Path | None, submitted: Path, student: str) -> Path:
    """Return the notebook that races for a student, by default from the folder of submissions. Raises CourseError for a bad id."""
    from ..grading.tasks import check_student_id

    check_student_id(student)
    return notebook or submitted / student / CAPSTONE / f"{CAPSTONE}.ipynb"


def enter(notebook: Path, model: Model, board: Board, local: bool, seed: int | None) -> Outcome:
    """Race a notebook's engine, with new requests if no seed is given."""
    import secrets

    from course.kit import load_model

    from ..race import entry
    from ..race.running import TRACKS
    from ..sandbox.process import forkserver_pool

    cells = entry.student_cells(notebook)
    load_model(model.value)  # raises in one line where it has not been fetched
    if local:
        forkserver_pool.want("none")
    drawn = secrets.randbits(53) if seed is None else seed
    return entry.enter(cells, drawn, track=TRACKS[model.value], board=board.value, say=say)


def write_result(into: Path, outcome: Outcome, not_verified: str) -> None:
    """Write race.json into the folder of the board."""
    into.mkdir(parents=True, exist_ok=True)
    (into / "race.json").write_text(json.dumps({**outcome.as_data(), "not_verified": not_verified}, indent=1), encoding="utf-8")


def write_records(
    outcome: Outcome, notebook: Path, student: str | None, submitted: Path, results: Path | None, not_verified: str
) -> None:
    """Write the record of a named student, and Gradescope's results.json if requested."""
    from ..gradebook.books.class_folder import ClassFolder
    from ..gradebook.lms.gradescope import results_json
    from ..grading.records import write_record
    from ..race import recording

    record = recording.record_of(outcome, notebook, student or NOBODY, not_verified)
    if student is not None:
        say(f"record: {write_record(ClassFolder.of(submitted).records, record)}")
    if results is not None:
        results.write_bytes(results_json(recording.result_of(record)))


def show(outcome: Outcome) -> None:
    for part in outcome.parts:
        say(f"{'right' if part.fault is None else 'WRONG'}  {part.title}" + (f": {part.fault}" if part.fault else ""))
    if outcome.parts:
        say(f"correctness: {outcome.points} of {len(outcome.parts)} points")
    for rate in outcome.rates:
        served = f"{rate.served:.0%} of the tokens in time, reference {(rate.reference + rate.again) / 2:.0%}"
        say(f"{rate.rate:g}x capacity: {served}; {rate.goodput:,.0f} tokens/s, reference {rate.reference_goodput:,.0f}")
    if outcome.divergence is not None:
        say(f"mean divergence of your tokens from the model: at least {outcome.divergence:.4f} nats")
    if outcome.score is None:
        say(f"no score: {outcome.no_score}")
    else:
        say(f"score {outcome.score:.2f}; the reference differs from itself by {outcome.differs:+.1%}; seed {outcome.seed}")


def say(line: str) -> None:
    console.print(line, markup=False, highlight=False, soft_wrap=True)
