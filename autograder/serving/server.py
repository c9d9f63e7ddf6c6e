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
from course.kit.serving.access import Access
from course.kit.serving.core import FailedOutput
from course.kit.serving.running import CannotListen, address, announce, open_port
from course.kit.serving.running import serve as run
from course.kit.serving.web import Parts, Served, Server
from solutions import serving
from solutions.engine.backend import Kind, NoKernels, choose
from solutions.engine.core import EngineCore
from solutions.tokenizer import render_chat

from .. import __version__
from ..base import gc_tuning
from ..base.errors import CourseError
from ..lessons import find_day, lesson
from ..notebook.earlier import exercise_module
from ..notebook.session import Session
from ..notebook.workspace import notebook_path
from .chat_template import RenderChat, json_object, renderer

OWN = ("AsyncEngine", "TextStream", "parse_params", "sse_event", "send_events")
"""The parts of a student's own server. Each is used if its checks pass."""


NUMBERS: dict[str, Kind] = {"auto": "auto", "float32": torch.float32}


def serve(
    *, model: str, host: str, port: int, fd: int | None, mine: bool, dtype: str, rows: int, max_waiting: int, max_len: int | None,
    patience: float, access: Access,
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
        render = renderer(model, chosen.tokenizer)
        if render is not render_chat:
            print("Conversations are written in the model's own chat template.", flush=True)
        core = EngineCore(chosen, threads=threads)
        measures = fd is None and chosen.max_len > 2 * NUM_MEASURED  # of several replicas each would take the others' time
        speed = asyncio.run(tokens_a_second(core, chosen.tokenizer.encode(SAID))) if measures else None
        if speed is not None:
            print(f"A single request gets {speed:.0f} tokens a second here, just measured; several at once get more in total.", flush=True)
        defaults = sampling_defaults(model)
        if defaults:
            values = " and ".join(f"{name} {value:g}" for name, value in defaults.items())
            print(f"A request without {' or '.join(defaults)} gets {values}, as the model's makers advise.", flush=True)
        served = Served(model_name(model), chosen.tokenizer, chosen.config.vocab_size, chosen.max_len, defaults, version=__version__)
        server = Server(core, parts(found, render), served, max_waiting=max_waiting, access=access)
        try:
            gc_tuning.restore()
            said = (lambda: announce(address(opened), served.name, host, keyed=access.key is not None)) if fd is None else lambda: None
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
        for output in await core.step():
            if isinstance(output, FailedOutput):
                raise output.error
            made += 1
        begin = begin or time.perf_counter()
    return (made - 1) / (time.perf_counter() - begin) if made > NUM_MEASURED // 2 else None


def parts(own: dict[str, Any], render: RenderChat = render_chat) -> Parts:
    """Return the course's parts, replaced by the student's own parts in `own`. render: the writer of conversations."""
    given: dict[str, Callable[..., Any]] = {name: getattr(serving, name) for name in OWN}
    return Parts(**{**given, **own}, render_chat=render)


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


SMOLLM2_DEFAULTS = {"temperature": 0.2, "top_p": 0.9}
"""From the example on SmolLM2-135M-Instruct's model card. So small a model talks nonsense at temperature 1, which is the API's default."""


def sampling_defaults(model: str) -> dict[str, float]:
    """Return the temperature and top_p that a model's makers advise, as far as they do.

    A folder's advice is in its generation_config.json.
    """
    if model == "smollm2":
        return SMOLLM2_DEFAULTS
    advice = json_object(Path(model).expanduser() / "generation_config.json")
    valid: dict[str, Callable[[float], bool]] = {"temperature": lambda value: 0 <= value <= 2, "top_p": lambda value: 0 < value <= 1}
    found: dict[str, float] = {}
    for name in valid.keys() & advice.keys():
        value = advice[name]
        if isinstance(value, int | float) and not isinstance(value, bool) and valid[name](value):
            found[name] = value
    return found


def model_name(model: str) -> str:
    """Return the model's name for clients: the course's name, or the name of the file or folder without path and suffix."""
    if model in ("tiny", "smollm2"):
        return model
    path = Path(model).expanduser().resolve()
    return path.stem if path.suffix == ".gguf" else path.name
