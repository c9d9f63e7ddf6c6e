"""A progress line for compiling the kernels, which happens once for a machine's processor."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import event


class _Line(event.Listener):
    """A listener to numba's compile events. numba sends no event for a function that it loads from the disk."""

    started: float | None = None

    def on_start(self, event: Any) -> None:
        if self.started is None:
            self.started = time.perf_counter()
            print("Engine: compiling the kernels, once for this processor; about 10 s ", end="", flush=True)

    def on_end(self, event: Any) -> None:
        if event.data["dispatcher"].py_func.__module__.startswith(__package__):  # and not one of the many that numba needs itself
            print(".", end="", flush=True)


@contextmanager
def report_compiling() -> Iterator[None]:
    """Print one line if anything is compiled in this block: a dot for each function, then the total seconds."""
    line = _Line()
    try:
        with event.install_listener("numba:compile", line):
            yield
    finally:
        if line.started is not None:
            print(f" {time.perf_counter() - line.started:.0f} s", flush=True)
