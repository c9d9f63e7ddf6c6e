"""A class's books: grades, late work, pages, and other systems' formats.

This package makes everything from lessons, records and the class's own tables; it grades nothing.
"""
