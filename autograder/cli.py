"""The command `autograder`. Exit status: 0 done; 1 something was found wrong; 2 bad arguments or damaged input."""

from __future__ import annotations

import errno
import sys

import typer
from rich.console import Console

from . import collector
from .commands import certifying, course, grading, handing_in, handing_out, hub, racing, regrading, reporting, rounds, serving, student
from .errors import CourseError, InfrastructureFault

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
stderr = Console(stderr=True)
MACHINES = frozenset({errno.ENOSPC, errno.EROFS, errno.EDQUOT, errno.EIO, errno.EACCES, errno.EPERM, errno.ENAMETOOLONG, errno.EMFILE})
"""Errors of a disk or its rights, which no traceback explains any better."""
INTERRUPTED = 130
"""The exit status after Ctrl-C."""


@app.callback()
def about() -> None:
    """From Prompt to Token: checks, grading and certification."""


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
    """Entry point: turns expected errors into one line and an exit status."""
    collector.seldom()
    try:
        app()
    except (KeyboardInterrupt, SystemExit) as ended:
        if isinstance(ended, SystemExit) and ended.code != INTERRUPTED:
            raise
        stderr.print("autograder: stopped", markup=False, highlight=False)
        sys.exit(INTERRUPTED)
    except CourseError as error:
        stderr.print(f"autograder: {error}", markup=False, highlight=False, soft_wrap=True)
        sys.exit(2)
    except InfrastructureFault as fault:
        stderr.print(f"autograder: infrastructure: {fault}", markup=False, highlight=False, soft_wrap=True)
        sys.exit(1)
    except OSError as error:
        if error.errno not in MACHINES:
            raise
        where = f"{error.filename}: " if error.filename is not None else ""
        stderr.print(f"autograder: {where}{error.strerror}: mend that and run it again", markup=False, highlight=False, soft_wrap=True)
        sys.exit(1)
    except Exception as error:
        if not is_of_database(error):
            raise
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        stderr.print(f"autograder: the gradebook cannot be used: {reason}", markup=False, highlight=False, soft_wrap=True)
        sys.exit(1)


def is_of_database(error: Exception) -> bool:
    """Whether a database refused (a full disk, no rights, a server that is gone), without loading what only some commands need."""
    return any(cls.__name__ == "OperationalError" and cls.__module__.startswith(("sqlalchemy", "sqlite3")) for cls in type(error).__mro__)


if __name__ == "__main__":
    main()
