"""A line about other programs for cells that measure with all of torch's threads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from .threads import measuring


@contextmanager
def telling_load() -> Iterator[None]:
    """Measure as `measuring` does, but keep torch's number of threads. Speeds on the ladder of tokens per second are measured this way.

    Threads that wait for each other run a loop, which counts as work: the line comes later than in one thread.
    """
    threads = torch.get_num_threads()
    with measuring():
        torch.set_num_threads(threads)
        yield
