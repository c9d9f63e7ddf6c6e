"""Tests that students write: each is held against every right and every wrong version of an exercise, and scored.

    tasks       for which exercises, which wrong versions count, and what is said of one that got through
    gathering   a test out of a notebook, with what it uses
    handed      what a test is handed in place of a version: it calls, and shows nothing
    judging     the runs, each version and each test in a process of its own
    telling     what is said of them
    counting    which wrong versions count: those that a test can tell from a right one

Nothing here is part of grading, and no points depend on it.
"""
