"""The processes behind `autograder serve` and `autograder chat`."""
