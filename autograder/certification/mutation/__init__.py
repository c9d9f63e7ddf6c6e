"""The mechanical adversary: single-change mutants of what is right, judged by real grading. `autograder certify --mutate`."""
