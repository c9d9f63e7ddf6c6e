"""Mutation testing: single-change mutants of correct versions and mutants by kind, judged by real grading (`certify --mutate`)."""
