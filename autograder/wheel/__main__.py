"""The command line that builds the wheel; `make wheel` calls it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ..base.errors import CourseError
from ..lessons import ROOT
from .build import build


def main(folder: Annotated[Path, typer.Option("--to", help="Output folder.")] = ROOT / "dist") -> None:
    """Build the course's wheel."""
    try:
        path = build(folder)
    except CourseError as error:
        print(f"autograder.wheel: {error}", file=sys.stderr)
        raise typer.Exit(1) from None
    print(f"{path} ({path.stat().st_size / 1e6:.1f} MB)")


if __name__ == "__main__":
    typer.run(main)
