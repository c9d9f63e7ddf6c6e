"""Checks, grading and certification for the course."""

__version__ = "0.1.0"
