"""The processes of `autograder serve` and `autograder chat`."""
