"""The command `make serve`: the engine and an OpenAI-compatible server, assembled from the course's parts, or from a student's."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from course.kit.errors import ModelError
from course.kit.serving import SamplingParams
from course.kit.serving.running import LOOPBACK, CannotListen, address, announce, open_port
from course.kit.serving.running import serve as run
from course.kit.serving.web import Parts, Served, Server
from solutions import serving
from solutions.engine.backend import Kind, NoKernels, choose
from solutions.engine.core import EngineCore
from solutions.tokenizer import render_chat

from ..base import gc_tuning
from ..base.errors import CourseError
from ..lessons import find_day, lesson
from ..notebook.earlier import exercise_module
from ..notebook.session import Session
from ..notebook.workspace import notebook_path

OWN = ("AsyncEngine", "TextStream", "parse_params", "sse_event", "send_events")
"""The parts of a student's own server. Each is used if its checks pass."""


NUMBERS: dict[str, Kind] = {"auto": "auto", "float32": torch.float32}


def serve(
    *, model: str, host: str, port: int, fd: int | None, mine: bool, dtype: str, rows: int, max_waiting: int, max_len: int | None,
    patience: float,
) -> int:  # fmt: skip
    """Serve until a signal. Return the exit status. Raises CourseError, one line with the remedy.

    fd: the descriptor of a socket that already listens, used instead of host and port. The process that opened it announces the address.
    dtype: one of NUMBERS.
    """
    try:
        # first: a user who has to name another port need not wait for a model
        opened = open_port(host, port) if fd is None else socket.socket(fileno=fd)
    except CannotListen as error:
        raise CourseError(str(error)) from None
    try:
        found = own_parts() if mine else {}
        if mine:
            print(whose(found), flush=True)
        threads = torch.get_num_threads()
        try:
            chosen = choose(model, NUMBERS[dtype], rows=rows, max_len=max_len, threads=threads)
        except (ModelError, NoKernels, ValueError) as error:
            raise CourseError(str(error)) from None
        print(chosen.line, flush=True)
        core = EngineCore(chosen, threads=threads)
        measures = fd is None and chosen.max_len > 2 * NUM_MEASURED  # of several replicas each would take the others' time
        speed = asyncio.run(tokens_a_second(core, chosen.tokenizer.encode(SAID))) if measures else None
        if speed is not None:
            print(f"A single request gets {speed:.0f} tokens a second here, just measured; several at once get more in total.", flush=True)
        served = Served(model_name(model), chosen.tokenizer, chosen.config.vocab_size, chosen.max_len)
        hosts = LOOPBACK if fd is None and host in LOOPBACK else None  # a router has checked already
        server = Server(core, parts(found), served, max_waiting=max_waiting, hosts=hosts)
        try:
            gc_tuning.restore()
            said = (lambda: announce(address(opened), served.name, host)) if fd is None else lambda: None
            return run(server, opened, said, patience=patience)
        finally:
            core.close()
    finally:
        opened.close()


SAID, NUM_MEASURED = "Once upon a time", 32


async def tokens_a_second(core: EngineCore, ids: list[int]) -> float | None:
    """Measure the tokens a second of one answer after its first token; None if the answer ends too early to measure."""
    core.add("speed", ids, SamplingParams(max_tokens=NUM_MEASURED + 1, temperature=0.0))
    made, begin = 0, 0.0
    while core.has_work:
        made += len(await core.step())
        begin = begin or time.perf_counter()
    return (made - 1) / (time.perf_counter() - begin) if made > NUM_MEASURED // 2 else None


def parts(own: dict[str, Any]) -> Parts:
    """Return the course's parts, replaced by the student's own parts in `own`."""
    given: dict[str, Callable[..., Any]] = {name: getattr(serving, name) for name in OWN}
    return Parts(**{**given, **own}, render_chat=render_chat)


def own_parts() -> dict[str, Any]:
    """Return the functions of a student's notebook that pass their checks, by name. Raises CourseError if there is no notebook."""
    day = find_day("serving")
    path = notebook_path(day)
    if not day.ready or not path.exists():
        raise CourseError(f"ENGINE=mine: there is no notebook at {path}; run `autograder work` to get the released notebook")
    module = exercise_module(day, path)
    if module is None:
        raise CourseError(f"ENGINE=mine: the cells of {path} do not run; `autograder check {day.slug}` says why")
    exercises = {exercise.name for exercise in lesson(day).exercises}
    print("Running Day 18's checks on your notebook; this takes a few seconds.", flush=True)
    session = Session(day, path)
    try:
        return {
            name: getattr(module, name)
            for name in OWN
            if name in exercises and hasattr(module, name) and not any(verdict.failed for verdict in session.verdicts(name))
        }
    finally:
        session.close()


def whose(own: dict[str, Any]) -> str:
    """Return one line that says which parts are the student's."""
    rest = [name for name in OWN if name not in own]
    line = f"Yours: {', '.join(own) or 'nothing yet'}."
    return f"{line} The course's, until yours pass their checks: {', '.join(rest)}." if rest else line


def model_name(model: str) -> str:
    """Return the model's name for clients: the course's name, or the name of the file or folder without path and suffix."""
    if model in ("tiny", "smollm2"):
        return model
    path = Path(model).expanduser().resolve()
    return path.stem if path.suffix == ".gguf" else path.name
