"""Ranks that are real processes of this machine: a notebook's functions over `torch.distributed`, with gloo over the loopback.

The functions are the same ones that `ranks.run_ranks` runs in one process. Each process imports torch and runs the given cells, so a run
takes some seconds before the first message is sent.
"""

from __future__ import annotations

import inspect
import json
import mmap
import os
import struct
import subprocess
import sys
import tempfile
import textwrap
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from .paths import ROOT
from .ranks import Communicator, Deadlock, RankError

DTYPES = (
    torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool,
)  # fmt: skip
MAX_DIMS = 8
HEAD = 2 + MAX_DIMS
"""The numbers before each message: its dtype, its number of dimensions, and their sizes."""
NOBODY = -1
POLL_SECONDS = 0.02
GRACE_SECONDS = 2.0
"""The seconds that the others may take to notice that a rank is gone."""


@dataclass(frozen=True)
class GlooRun:
    """The result of `run_gloo`.

    results: each rank's result. seconds: the time of each rank's call. total_seconds: the time of the whole run, with the start of the
    processes.
    """

    results: list[Any]
    seconds: list[float]
    total_seconds: float


def run_gloo(
    world: int,
    sources: Sequence[str | Callable[..., Any]],
    name: str,
    args_of_rank: Sequence[Sequence[Any]] | None = None,
    *,
    deadline_seconds: float = 120.0,
) -> GlooRun:
    """Call `name(*args_of_rank[rank], comm)` on every rank. Each rank is a process of its own; ranks can only send and receive.

    sources: Python text, or functions whose source text is used. Every process runs all sources in order, and one of them must define
    `name`. Arguments and results may be anything that pickle supports; of a view, only the view's own entries are sent.

    Raises Deadlock if ranks wait for each other at the deadline. Raises RankError if a rank ends without an answer, raises an exception, or
    does not receive a message sent to it. No process is left running.
    """
    if type(world) is not int or world < 1:
        raise ValueError(f"world must be a whole number of 1 or more, got {world!r}")
    args_of_rank = [()] * world if args_of_rank is None else args_of_rank
    if len(args_of_rank) != world:
        raise ValueError(f"arguments for {len(args_of_rank)} ranks, but world is {world}")
    if not (dist.is_available() and dist.is_gloo_available()):
        raise RankError("this torch was built without gloo: `run_ranks` runs the same functions in one process")
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="ranks-") as folder:
        place = Path(folder)
        (place / "cells.py").write_text("\n\n".join(_text(source) for source in sources), encoding="utf-8")
        (place / "waits").write_bytes(struct.pack("i", NOBODY) * world)
        for rank, args in enumerate(args_of_rank):
            torch.save(_own(tuple(args)), place / f"args-{rank}")
        processes = [_start(place, rank, world, name, deadline_seconds) for rank in range(world)]
        try:
            _wait(processes, place, began + deadline_seconds)
        finally:
            for process in processes:
                process.kill()
                process.wait()
        answers = [torch.load(place / f"answer-{rank}", weights_only=False) for rank in range(world)]
    return GlooRun([result for result, _ in answers], [seconds for _, seconds in answers], time.monotonic() - began)


def _text(source: str | Callable[..., Any]) -> str:
    if isinstance(source, str):
        return textwrap.dedent(source)
    try:
        return textwrap.dedent(inspect.getsource(source))
    except (OSError, TypeError):
        raise ValueError(f"the source of {getattr(source, '__name__', source)!r} cannot be read: give the source as a string") from None


def _own(value: Any, seen: dict[int, Tensor] | None = None) -> Any:
    """Return the same value with each view replaced by a copy of its own entries: `torch.save` would write the view's whole storage."""
    seen = {} if seen is None else seen
    if isinstance(value, Tensor):
        if id(value) not in seen:
            seen[id(value)] = value.detach().clone(memory_format=torch.contiguous_format)
        return seen[id(value)]
    if isinstance(value, tuple | list):
        return type(value)([_own(part, seen) for part in value])
    if isinstance(value, dict):
        return {key: _own(part, seen) for key, part in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{field.name: _own(getattr(value, field.name), seen) for field in fields(value)})
    return value


# ---- the process that asks -----------------------------------------------------------------------------------------


def _start(place: Path, rank: int, world: int, name: str, seconds: float) -> subprocess.Popen[bytes]:
    loopback = "lo0" if sys.platform == "darwin" else "lo"  # no message leaves this machine
    paths = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    return subprocess.Popen(
        [sys.executable, "-m", __name__, str(place), str(rank), str(world), name, str(seconds)],
        env=os.environ | {"GLOO_SOCKET_IFNAME": loopback, "PYTHONPATH": paths},
        stdin=subprocess.DEVNULL,
        stdout=(place / f"out-{rank}").open("wb"),
        stderr=subprocess.STDOUT,
    )


def _wait(processes: list[subprocess.Popen[bytes]], place: Path, until: float) -> None:
    """Wait until all ranks have answered. Raises at the deadline, or as soon as a rank has ended without an answer."""
    while any(process.poll() is None for process in processes) and not any(process.poll() for process in processes):
        if time.monotonic() > until:
            raise Deadlock(f"the ranks did not end in time: {_who_waits(place, processes) or 'no rank waits; is a loop endless'}")
        time.sleep(POLL_SECONDS)
    if not any(process.poll() for process in processes):
        return
    waits = _who_waits(place, processes)  # their state while it is missing
    end = time.monotonic() + GRACE_SECONDS
    while any(process.poll() is None for process in processes) and time.monotonic() < end:
        time.sleep(POLL_SECONDS)
    errors = {rank: place / f"error-{rank}" for rank in range(len(processes))}
    messages = {rank: path.read_text(encoding="utf-8") for rank, path in errors.items() if path.exists()}
    by_itself = [f"rank {rank}: {text}" for rank, text in sorted(messages.items()) if not text.startswith("lost: ")]
    if by_itself:
        raise RankError(by_itself[0])
    silent = [rank for rank, process in enumerate(processes) if process.poll() and rank not in messages]
    gone = [f"rank {rank} has ended without an answer ({_how(processes[rank])})" for rank in silent]
    lost = [text.removeprefix("lost: ") for _, text in sorted(messages.items())]
    raise RankError("; ".join([*gone, *(lost or ([waits] if waits else []))]))


def _how(process: subprocess.Popen[bytes]) -> str:
    return f"signal {-process.returncode}" if process.returncode < 0 else f"exit status {process.returncode}"


def _who_waits(place: Path, processes: list[subprocess.Popen[bytes]]) -> str:
    waits = struct.unpack(f"{len(processes)}i", (place / "waits").read_bytes())
    return "; ".join(
        f"rank {rank} waits for rank {src}{', which has ended' if processes[src].poll() is not None else ''}"
        for rank, src in enumerate(waits) if src != NOBODY and processes[rank].poll() is None
    )  # fmt: skip


# ---- a rank --------------------------------------------------------------------------------------------------------


class Lost(RankError):
    """An error for a rank that has ended although this rank waits for it or sends to it."""


class Wire:
    """A rank's connection to the others.

    Each message is sent in two parts, a head and the bytes. Each pair of ranks numbers its messages, so none overtakes another.
    """

    def __init__(self, rank: int, world: int, waits: mmap.mmap, store: dist.Store) -> None:
        self.rank, self.world, self.waits, self.store = rank, world, waits, store
        self.pending: list[tuple[Any, Tensor]] = []
        """The messages on their way, with their memory, which must live as long."""
        self.sent, self.received = [0] * world, [0] * world

    def send(self, dst: int, tensor: Tensor) -> None:
        self._known(dst)
        if not isinstance(tensor, Tensor):
            raise TypeError(f"send needs a tensor, got a {type(tensor).__name__}")
        if tensor.dtype not in DTYPES or tensor.dim() > MAX_DIMS:
            raise TypeError(f"gloo cannot send {tensor.dtype} of {tensor.dim()} dimensions")
        head = torch.tensor([DTYPES.index(tensor.dtype), tensor.dim(), *tensor.shape, *[0] * (MAX_DIMS - tensor.dim())])
        body = tensor.detach().cpu().clone(memory_format=torch.contiguous_format).reshape(-1).view(torch.uint8)
        self.pending = [(work, kept) for work, kept in self.pending if not work.is_completed()]
        for number, part in enumerate((head, body)):
            if part.numel():
                try:
                    work = dist.isend(part, dst, tag=2 * self.sent[dst] + number)
                except RuntimeError:  # gloo has seen that the connection is closed
                    raise Lost(f"rank {self.rank} sends to rank {dst}, which has ended") from None
                self.pending.append((work, part))
        self.sent[dst] += 1

    def recv(self, src: int) -> Tensor:
        self._known(src)
        struct.pack_into("i", self.waits, 4 * self.rank, src)
        head = self._part(src, torch.zeros(HEAD, dtype=torch.int64), 0).tolist()
        dtype, shape = DTYPES[head[0]], head[2 : 2 + head[1]]
        tensor = torch.empty(shape, dtype=dtype)
        body = self._part(src, tensor.reshape(-1).view(torch.uint8), 1)
        struct.pack_into("i", self.waits, 4 * self.rank, NOBODY)
        self.received[src] += 1
        return body.view(dtype).reshape(shape)

    def end(self) -> None:
        """Check that all messages have been received, or raise RankError."""
        self.store.set(f"sent by {self.rank}", json.dumps(self.sent))
        struct.pack_into("i", self.waits, 4 * self.rank, NOBODY)
        unread = []
        for src in range(self.world):
            missed = json.loads(self.store.get(f"sent by {src}"))[self.rank] - self.received[src]
            unread += [f"{missed} from rank {src} to rank {self.rank}"] if missed else []
        self.store.set(f"unread at {self.rank}", json.dumps(unread))
        everywhere = [text for other in range(self.world) for text in json.loads(self.store.get(f"unread at {other}"))]
        if everywhere:
            raise RankError(f"messages that nobody has received: {', '.join(everywhere)}")
        for work, _ in self.pending:  # all has been received: what is left is to hear of it
            work.wait()

    def _part(self, src: int, into: Tensor, number: int) -> Tensor:
        if into.numel():
            try:
                dist.recv(into, src, tag=2 * self.received[src] + number)
            except RuntimeError:  # gloo says that a connection is closed
                raise Lost(f"rank {self.rank} waits for rank {src}, which has ended") from None
        return into

    def _known(self, other: int) -> None:
        if type(other) is not int or not 0 <= other < self.world or other == self.rank:
            raise ValueError(f"rank {self.rank} of {self.world} has no neighbour {other!r}")


def _rank(place: Path, rank: int, world: int, name: str, seconds: float) -> None:
    """Run one rank in its process, and write its answer or its exception to a file."""
    torch.set_num_threads(max(1, (os.cpu_count() or 1) // world))
    store = dist.FileStore(str(place / "store"), world)
    store.set_timeout(timedelta(seconds=seconds))
    dist.init_process_group("gloo", store=store, rank=rank, world_size=world, timeout=timedelta(seconds=seconds))
    with (place / "waits").open("r+b") as file:
        wire = Wire(rank, world, mmap.mmap(file.fileno(), 0), store)
    cells = place / "cells.py"
    namespace: dict[str, Any] = {"__name__": "cells"}
    exec(compile(cells.read_text(encoding="utf-8"), str(cells), "exec"), namespace)
    if name not in namespace:
        raise NameError(f"the cells define no {name!r}")
    args = torch.load(place / f"args-{rank}", weights_only=False)
    dist.barrier()  # the slowest start is not counted as waiting
    began = time.perf_counter()
    with torch.no_grad():
        result = namespace[name](*args, Communicator(rank, world, wire.send, wire.recv))
    took = time.perf_counter() - began
    wire.end()
    torch.save((_own(result), took), place / f"answer-{rank}")


def main(arguments: Sequence[str]) -> int:
    place, rank = Path(arguments[0]), int(arguments[1])
    try:
        _rank(place, rank, int(arguments[2]), arguments[3], float(arguments[4]))
    except BaseException as error:
        own = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.endswith("cells.py")]
        at = f" (line {own[-1].lineno} of the cells, in {own[-1].name}: {own[-1].line})" if own else ""
        text = f"lost: {error}" if isinstance(error, Lost) else f"{type(error).__name__}: {error}{at}"
        half = place / f"error-{rank}.half"
        half.write_text(text, encoding="utf-8")
        half.rename(place / f"error-{rank}")
        os._exit(1)  # not held up by messages that are still on their way
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
