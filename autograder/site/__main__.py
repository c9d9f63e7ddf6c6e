"""The command line of the site's builder; `make docs` calls it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from autograder.base.errors import CourseError
from autograder.lessons import find_day

from .build import OUT, build


def main(
    answers: Annotated[bool, typer.Option(help="Fold an answer under each exercise.")] = True,
    day: Annotated[list[str] | None, typer.Option(help="Only this day; may be given more than once.")] = None,
    out: Annotated[Path, typer.Option(help="Output folder of the site.")] = OUT,
) -> None:
    """Build the course's site."""
    try:
        build(out.resolve(), answers=answers, days=[find_day(name) for name in day or []])
    except CourseError as error:
        print(f"autograder.site: {error}", file=sys.stderr)
        raise typer.Exit(1) from None


if __name__ == "__main__":
    typer.run(main)
