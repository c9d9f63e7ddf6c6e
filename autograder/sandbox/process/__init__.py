"""Processes that run a student's code, and the grader's ends of them."""
