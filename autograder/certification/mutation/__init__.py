"""Mutation testing: single-change mutants of right versions, judged by real grading. `autograder certify --mutate`."""
