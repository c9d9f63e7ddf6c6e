"""Checks, the runner, and the causes of failures."""
