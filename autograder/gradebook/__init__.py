"""A class's gradebook: grades, late work, pages, and exports to other systems.

This package makes everything from lessons, records and the class's own tables; it grades nothing.
"""
