"""Tests that students write: each runs on every correct and every incorrect version of an exercise, and is scored.

    tasks        exercises with such tests, the incorrect versions that count, and the rules that they break
    collect      extraction of a test from a notebook, with everything that it uses
    payload      the object that a test gets in place of a version: it passes calls on, and reveals nothing
    judging      the runs, each version and each test in a process of its own
    report       the messages about the result
    inspection   remarks on the test's source
    counting     the incorrect versions that count: those that a test can tell from a correct one

Nothing here is part of grading, and no points depend on it.
"""
