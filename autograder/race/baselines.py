"""The engines that a race compares with: the course's, and the one that every notebook begins with. Each runs in a worker of its own.

These workers come from a fork server that forks no submission's worker, so the reference is never in a submission's process.
"""

from __future__ import annotations

import math

from course.kit.paths import ROOT

from ..base.course_table import earlier_sources
from ..sandbox.confine.limits import Limits
from ..sandbox.process import forkserver_pool
from ..sandbox.process.forkserver_client import ForkServer
from ..sandbox.submission import Cell
from .replay import Racer

TOPIC = "capstone"
LIMITS = Limits(call_seconds=30.0, cell_seconds=20.0, check_seconds=300.0, submission_seconds=3600.0, memory_bytes=4 * 1024**3)
"""The limits of a student's worker in a race: a check is one list of requests."""
OURS = Limits(call_seconds=60.0, check_seconds=math.inf, submission_seconds=math.inf, memory_bytes=4 * 1024**3)
PARTS = ("block_manager", "matmul", "onnx_blocks", "packed", "runner", "sampling", "scheduler", "sequence", "serving")
"""The modules of the course's engine that its worker imports."""


class Rivals:
    """A maker of workers with the course's engine or the naive engine. `close` ends all workers."""

    def __init__(self) -> None:
        self._forkserver: ForkServer | None = None
        self._made: list[Racer] = []

    def reference(self) -> Racer:
        engine = ROOT / "solutions" / "engine"
        parts = {f"engine.{name}": (engine / f"{name}.py").read_text(encoding="utf-8") for name in PARTS}
        package = {"engine": "__path__ = []"}  # its own __init__ would bring the whole of it
        return self._racer((engine / "capstone.py").read_text(encoding="utf-8"), {**earlier_sources(TOPIC), **package, **parts})

    def naive(self) -> Racer:
        return self._racer(naive_source(), earlier_sources(TOPIC))

    def close(self) -> None:
        for racer in self._made:
            racer.close()
        if self._forkserver is not None:
            self._forkserver.close()

    def _racer(self, source: str, earlier: dict[str, str]) -> Racer:
        racer = Racer(TOPIC, [Cell("CapstoneEngine", source)], earlier, limits=OURS, parent=self._parent)
        self._made.append(racer)
        return racer

    def _parent(self) -> ForkServer:
        if self._forkserver is None or not self._forkserver.alive:
            self._forkserver = ForkServer(OURS, forkserver_pool.level())
        return self._forkserver


def naive_source() -> str:
    return (ROOT / "solutions" / "capstone.py").read_text(encoding="utf-8")
