"""The command `autograder` of an installed course: a learner's commands, run in the folder that `prompt-to-token` laid out.

Hidden checks and the commands for a class are only in a checkout of the course.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from . import folder as folders

STUDENT, COURSE, SERVING = ("check", "progress", "reset"), ("work", "doctor"), ("serve", "chat")
HERE = (*STUDENT, *COURSE, *SERVING)
INTERRUPTED = 130


def main() -> None:
    """Run the command. Exit status: 0 done; 1 somebody must look; 2 bad arguments."""
    words = sys.argv[1:]
    if words and words[0] == "check" and "--graded" in words:
        print_line(graded(words[1:]))
        sys.exit(2)
    if words and not words[0].startswith("-") and words[0] not in HERE:
        has = ", ".join(HERE)
        print_line(f"this copy of the course has no `{words[0]}`, only {has}; for the rest, `git clone {folders.address()}`")
        sys.exit(2)
    folder = folders.course_around(Path.cwd()) or folders.shown_to_kernels()
    if folder is None:
        print_line("no folder of the course here: run `prompt-to-token` first, or change to the folder that this command made")
        sys.exit(2)
    sys.path.insert(0, str(folder))
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))
    run()


def graded(words: list[str]) -> str:
    """Return the message for `--graded`: hidden checks are only in a checkout, and these commands run them there."""
    which = next((word for word in words if not word.startswith("-")), "DAY")
    return (
        f"this copy of the course has no hidden checks: `git clone {folders.address()}`, run `make lab` there once, then "
        f"`autograder check {which} --graded --notebook PATH_OF_YOUR_NOTEBOOK`"
    )


def print_line(line: str) -> None:
    print(f"autograder: {line}", file=sys.stderr)


def run() -> None:
    """Run one of the folder's own commands, and turn expected errors into one line and an exit status."""
    import typer

    from autograder.base import gc_tuning
    from autograder.base.errors import CourseError, InfrastructureFault
    from autograder.commands import course, serving, student

    gc_tuning.relax()
    app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    for module, names in ((student, STUDENT), (course, COURSE), (serving, SERVING)):
        for name in names:
            app.command(name)(getattr(module, name))
    try:
        app()
    except CourseError as error:
        print_line(str(error))
        sys.exit(error.exit_status)
    except InfrastructureFault as fault:
        print_line(f"infrastructure: {fault}")
        sys.exit(1)
    except KeyboardInterrupt:
        print_line("stopped")
        sys.exit(INTERRUPTED)
