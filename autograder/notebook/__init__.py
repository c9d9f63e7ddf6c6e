"""The student's side: checks, hints, progress and pictures in a notebook, and pytest on one."""
