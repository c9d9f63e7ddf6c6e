"""The command for a class server: hub."""

from __future__ import annotations

import getpass
from pathlib import Path
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    app.command()(hub)


def hub(
    folder: Annotated[Path, typer.Argument(help="The folder of the class: `autograder class` makes it.")],
    port: Annotated[int, typer.Option(help="The port of the server's one address.")] = 8000,
    host: Annotated[str, typer.Option(help="Who is let in: 127.0.0.1, this machine; 0.0.0.0, all that reach it.")] = "127.0.0.1",
    accounts: Annotated[bool, typer.Option("--accounts", help="An account of this machine for each student; needs root.")] = False,
    instructor: Annotated[str | None, typer.Option(help="The instructor's name to log in with; yours by default.")] = None,
) -> None:
    """Serves a class: JupyterHub, with a log-in for each line of the roster, and buttons to fetch, hand in, collect and grade."""
    from ..hub.starting import start

    start(folder, host=host, port=port, accounts=accounts, instructor=instructor or getpass.getuser())
