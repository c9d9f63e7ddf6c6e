"""Commands that give work to students: bundle."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from .course import DayArgument, chosen_days

console = Console()


def register(app: typer.Typer) -> None:
    app.command()(bundle)


def bundle(
    day: DayArgument = None,
    folder: Annotated[Path, typer.Option("--to", help="Where the zips are written.")] = Path("bundles"),
) -> None:
    """Packs a day for students: notebook, visible checks, the kit; no answer of this day or a later one."""
    from ..exports.bundle import write_bundle

    for each in chosen_days(day):
        path = write_bundle(each, folder)
        size = path.stat().st_size / 1e6
        console.print(f"{path} ({size:.1f} MB)", markup=False, highlight=False, soft_wrap=True)
