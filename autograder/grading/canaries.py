"""Canaries with cached results, because grading the reference and the blank notebook takes seconds and a class is graded in many runs.

A cache entry means that both notebooks had the expected scores on this machine, with this seed, these limits and this isolation. Faults are
never cached.
"""

from __future__ import annotations

import platform
from dataclasses import asdict

from ..base import cache
from ..lessons import Day, release_notebook_path
from ..sandbox.process import forkserver_pool
from . import grade, verdict_inputs
from .grade import Options

KIND = "canaries"
MOST = 40
"""The number of entries of a day: each class has a seed of its own, and some runs draw one."""


def canaries(day: Day, options: Options) -> None:
    """Run `grade.canaries`, unless the same canaries have passed on this machine before. Raises InfrastructureFault."""
    key = key_of(day, options)
    if cache.load(KIND, day.slug, key) is None:
        grade.canaries(day, options)
        cache.store(KIND, day.slug, key, b"", most=MOST)


def key_of(day: Day, options: Options) -> str:
    machine = platform.platform(), platform.machine(), platform.python_version(), forkserver_pool.level()
    release = release_notebook_path(day).read_bytes()
    return cache.key(verdict_inputs.of_day(day), release, options.seed, asdict(options.limits), machine)
