"""The grader, graded: correct and incorrect solutions, attacks, mutants and written tests."""
