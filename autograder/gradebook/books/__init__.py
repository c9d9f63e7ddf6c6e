"""nbgrader stays nbgrader: its command, formgrader's button and its feedback work as an instructor knows them, and the
verdicts are ours.

reading (a submitted file becomes a notebook, whatever is in it) -> preprocessors (nbgrader's cells are put right, then
the record's verdicts are written into them) -> stock SaveAutoGrades. `settings` says which step stands where, `bulk`
runs them for a whole class, `gradebook` looks after the database, `feedback` makes the pages.

Importing this is cheap; nbgrader and torch come in with the modules that need them.
"""
