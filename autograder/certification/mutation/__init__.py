"""Mutation testing: single-change mutants of correct versions, judged by real grading. `autograder certify --mutate`."""
