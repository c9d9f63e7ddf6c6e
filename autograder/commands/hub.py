"""The command for a class server: hub."""

from __future__ import annotations

import getpass
from pathlib import Path
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    app.command()(hub)


def hub(
    folder: Annotated[Path, typer.Argument(help="Class folder, made by `autograder class`.")],
    port: Annotated[int, typer.Option(help="Port.")] = 8000,
    host: Annotated[str, typer.Option(help="Address to listen on: 127.0.0.1 for this machine, 0.0.0.0 for the network.")] = "127.0.0.1",
    accounts: Annotated[bool, typer.Option("--accounts", help="Create a Linux account for each student; needs root.")] = False,
    instructor: Annotated[str | None, typer.Option(help="Instructor's login name; default: yours.")] = None,
) -> None:
    """Serve a class with JupyterHub: a login for each student on the roster, and buttons to fetch, hand in, collect and grade."""
    from ..hub.starting import start

    start(folder, host=host, port=port, accounts=accounts, instructor=instructor or getpass.getuser())
