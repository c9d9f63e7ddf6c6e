"""The command `autograder`. Exit status: 0 done; 1 somebody must look; 2 bad arguments or damaged input."""

from __future__ import annotations

import errno
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from typer.core import TyperGroup

from . import __version__
from .base import gc_tuning, own
from .base.errors import CourseError, InfrastructureFault, first_line
from .commands import certifying, course, grading, handing_in, handing_out, hub, racing, regrading, reporting, rounds, serving, student

GROUPS: dict[str, dict[str, str]] = {
    "Students": {
        "work": "copy missing notebooks to work/",
        "check": "run the checks on a notebook",
        "judge-test": "run your test on correct and incorrect solutions",
        "progress": "show days, exercises and points so far",
        "reset": "reset an exercise or a day to its released state",
        "race": "race your capstone engine against the course's",
    },
    "Teaching": {
        "class": "make a folder for a class",
        "new": "begin a day of your own",
        "bundle": "pack a day for students",
        "gradescope": "pack a day's autograder for Gradescope",
        "hub": "serve a class: JupyterHub with a log-in for each student",
        "roster": "fill roster.csv from Canvas's or Moodle's list",
        "collect": "put a platform's downloads into submitted/",
        "due": "show or set due dates",
        "late": "show or set the late policy",
        "weights": "show or set the weights of days in the course's grade",
        "round": "collect, grade, report, write feedback and export",
        "grade": "grade a class",
        "report": "write a page on the class, and tables",
        "feedback": "write a page for each student",
        "export": "write scores for Canvas, Moodle, Gradescope or a table",
        "regrade": "grade again and show whose score changes",
        "similar": "compare submissions and write a page on similar ones",
    },
    "Serving": {
        "serve": "serve a model: a chat page, and OpenAI's API",
        "chat": "talk with a model in the terminal",
    },
    "Course": {
        "doctor": "check this machine and suggest fixes",
        "demo": "grade a sample class: correct, incorrect and hostile work",
        "build": "build the instructor's notebooks, with answers",
        "release": "build the students' notebooks",
        "certify": "grade the grader",
    },
}


class Grouped(TyperGroup):
    """The group of commands, listed in sections with a line each."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command. Messages on invalid arguments omit the prefix that pydantic gives to every validator's message."""
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            error.message = error.message.removeprefix("Value error, ")
            raise

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        for title, lines in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(f"{name:10}", line) for name, line in lines.items()])


app = typer.Typer(cls=Grouped, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
stderr = Console(stderr=True)
MACHINES = frozenset({errno.ENOSPC, errno.EROFS, errno.EDQUOT, errno.EIO, errno.EACCES, errno.EPERM, errno.ENAMETOOLONG, errno.EMFILE})
"""The error codes of a disk or its rights, which no traceback explains any better."""
INTERRUPTED = 130
"""The exit status after Ctrl-C."""


def show_version(wanted: bool) -> None:
    if wanted:
        print(f"From Prompt to Token {__version__}")
        raise typer.Exit


@app.callback()
def about(
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.", is_eager=True, callback=show_version)] = False,
) -> None:
    """Check, grade and certify the exercises of From Prompt to Token. Run `autograder COMMAND --help` for the options of a command.

    Exit status: 0 done; 1 somebody must look; 2 a wrong argument or a damaged file.
    """
    own.use(own.folder_of(Path()))


course.register(app)
student.register(app)
grading.register(app)
handing_out.register(app)
handing_in.register(app)
reporting.register(app)
rounds.register(app)
regrading.register(app)
certifying.register(app)
serving.register(app)
hub.register(app)
racing.register(app)


def main() -> None:
    """Run the command, and turn expected errors into one line and an exit status."""
    gc_tuning.relax()
    try:
        app()
    except (KeyboardInterrupt, SystemExit) as ended:
        if isinstance(ended, SystemExit) and ended.code != INTERRUPTED:
            raise
        stderr.print("autograder: stopped", markup=False, highlight=False)
        sys.exit(INTERRUPTED)
    except CourseError as error:
        stderr.print(f"autograder: {error}", markup=False, highlight=False, soft_wrap=True)
        sys.exit(error.exit_status)
    except InfrastructureFault as fault:
        stderr.print(f"autograder: infrastructure: {fault}", markup=False, highlight=False, soft_wrap=True)
        sys.exit(1)
    except OSError as error:
        if error.errno not in MACHINES:
            raise
        where = f"{error.filename}: " if error.filename is not None else ""
        stderr.print(f"autograder: {where}{error.strerror}: fix that and run it again", markup=False, highlight=False, soft_wrap=True)
        sys.exit(1)
    except Exception as error:
        if not is_of_database(error):
            raise
        stderr.print(f"autograder: the gradebook cannot be used: {first_line(error)}", markup=False, highlight=False, soft_wrap=True)
        sys.exit(1)


def is_of_database(error: Exception) -> bool:
    """Return True if a database refused (full disk, no rights, lost server), without loading modules that only some commands need."""
    return any(cls.__name__ == "OperationalError" and cls.__module__.startswith(("sqlalchemy", "sqlite3")) for cls in type(error).__mro__)


if __name__ == "__main__":
    main()
