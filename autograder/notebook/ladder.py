"""The ladder: how fast a student's own code makes a model's tokens, from day to day, on their own machine.

A rung shows tokens per second and the share of the machine's memory bandwidth that this speed uses: each decode step must read every
weight once, whatever else it does. Rungs are never graded.
"""

from __future__ import annotations

import functools
import math
import time
from dataclasses import asdict
from typing import Any

import torch

from . import workspace
from .rungs import Rung


def rung(name: str, tokens_per_second: float, *, model: Any, batch: float = 1, weight_bytes: int | None = None) -> Rung:
    """Put a measured speed on the ladder, in place of a rung of the same name.

    model: the kit's model whose weights each step reads. batch: tokens that a step makes, one for each row, or their mean number if the
    step accepts guesses. weight_bytes: bytes of the weights, if they are stored in fewer bits than the model's.

    Raises ValueError unless the speed is a positive number.
    """
    if not (isinstance(tokens_per_second, int | float) and 0 < tokens_per_second < math.inf):
        raise ValueError(f"tokens_per_second must be a positive number, got {tokens_per_second!r}: divide tokens by seconds")
    read = model.num_parameters * model.dtype.itemsize if weight_bytes is None else weight_bytes
    used = read * tokens_per_second / batch
    share = used / machine_bandwidth()
    made = Rung(name, model.config.name, batch, float(tokens_per_second), used, share, time.time())
    folder = workspace.workspace_folder()
    table = workspace.read_progress(folder)
    table.setdefault("ladder", {})[name] = asdict(made)
    workspace.write_progress(folder, table)
    return made


@functools.cache
def machine_bandwidth() -> float:
    """Return the bytes a second of a plain sum over 256 MB, the best of five. Each kernel measures once."""
    values = torch.ones(2**26)
    fastest = math.inf
    for _ in range(5):
        start = time.perf_counter()
        values.sum()
        fastest = min(fastest, time.perf_counter() - start)
    return values.nbytes / fastest
