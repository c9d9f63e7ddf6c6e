"""The connection to nbgrader.

Its command, formgrader's button and its feedback work as an instructor knows them; the verdicts are ours.

reading (turns any submitted file into a notebook) -> preprocessors (correct nbgrader's cells, then write the record's
verdicts into them) -> stock SaveAutoGrades. `settings` puts the steps in order, `bulk` runs them for a whole class,
`gradebook` manages the database, `feedback` makes the pages.

Importing this is cheap; the modules that need nbgrader and torch import them.
"""
