"""The command `autograder`. Exit status: 0 done; 1 something was found wrong; 2 bad arguments or damaged input."""

from __future__ import annotations

import sys

import typer
from rich.console import Console

from .commands import certifying, course, grading, handing_in, handing_out, regrading, reporting, student
from .errors import CourseError, InfrastructureFault

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
stderr = Console(stderr=True)
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
regrading.register(app)
certifying.register(app)


def main() -> None:
    """Entry point: turns expected errors into one line and an exit status."""
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


if __name__ == "__main__":
    main()
