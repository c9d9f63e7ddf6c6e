"""Errors, files, parsing and other parts that every package may use."""
