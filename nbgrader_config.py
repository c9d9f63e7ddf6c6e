"""nbgrader's settings for this course: see autograder/nbgrader_bridge/settings.py."""

from autograder.nbgrader_bridge.settings import configure

configure(get_config())  # noqa: F821 - nbgrader gives it
