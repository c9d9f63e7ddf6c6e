"""How many threads torch takes in the grader."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def one_thread() -> Iterator[None]:
    """This process's own mathematics takes one thread, as the workers' does.

    Where submissions are graded side by side, more would only wait for each other, at full speed: torch's threads spin.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
