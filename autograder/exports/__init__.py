"""What goes out and what comes in: bundles for students, downloads of a learning platform, reports, other systems' formats.

Everything here is made from the lessons, from records and from the class's own tables; nothing here grades.
"""
