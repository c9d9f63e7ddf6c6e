"""Errors that end a command with one line, and the fault that no check may swallow."""


class CourseError(Exception):
    """Bad arguments or damaged input. The message is one line: what happened, and how to fix it. The exit status is 2."""

    exit_status = 2

    def _render_traceback_(self) -> list[str]:
        """Return the lines that IPython shows in place of a traceback, because a traceback would only show files of the course."""
        return [str(self)]


class Unavailable(CourseError):
    """Something that is in use or cannot be reached now. The same command can succeed later. The exit status is 1."""

    exit_status = 1


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message, or the name of its type if it has no message."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def typed_line(error: BaseException) -> str:
    """Return the name of an error's type and the first line of its message."""
    return f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"


class InfrastructureFault(BaseException):
    """A fault of the grader itself. The submission is graded again, then reported to a person. It never gets a zero.

    This is a BaseException, so that no `except Exception` in a check can turn the fault into a verdict.
    """


class SlowStart(InfrastructureFault):
    """A worker, or the process that forks workers, that did not answer in time. This says nothing of its level of isolation."""
