"""A class's books: grades, late work, pages, and other systems' formats.

Everything here is made from the lessons, from records and from the class's own tables; nothing here grades.
"""
