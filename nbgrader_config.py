"""nbgrader's settings for this course: see autograder/gradebook/books/settings.py."""

from autograder.gradebook.books.settings import configure

configure(get_config())  # noqa: F821 - nbgrader gives it
