"""The connection to nbgrader.

nbgrader's command, formgrader's button and the feedback work as an instructor knows them; the verdicts come from the course's grader.

reading (turns any submitted file into a notebook) -> preprocessors (correct nbgrader's cells, then write the record's
verdicts into them) -> stock SaveAutoGrades. `settings` puts the steps in order, `bulk` runs them for a whole class,
`gradebook` manages the database, `feedback` makes the pages.

Importing this package is cheap; the modules that need nbgrader and torch import them.
"""
