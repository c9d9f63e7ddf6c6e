"""The number of torch's threads while something is checked or measured."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def one_thread() -> Iterator[None]:
    """Give torch one thread in this process, as workers have.

    More threads only wait for each other if submissions are graded in parallel, and in a notebook on a busy machine; torch's threads wait
    in a loop, which takes as much processor time as work.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
