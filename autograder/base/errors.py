"""Errors that end a command with one line, and the fault that no check may swallow."""


class CourseError(Exception):
    """Bad arguments or damaged input: one line that says what happened and how to fix it. Exit status 2."""

    def _render_traceback_(self) -> list[str]:
        """Return the lines that IPython shows in place of a traceback, which would lead through our files alone."""
        return [str(self)]


class InfrastructureFault(BaseException):
    """A fault of our own code while grading. Never a zero: it is retried, then reported for a person.

    A BaseException, so that no `except Exception` in a check can turn it into a verdict.
    """
