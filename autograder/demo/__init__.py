"""A class of samples, graded: `autograder demo`."""
