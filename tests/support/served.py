"""Servers for tests: in this process, on a port of their own, with the core in reach; or as `make serve` starts them."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import openai
import torch

from autograder import __version__
from autograder.serving.server import parts
from course.kit import WeightsOnly, load_model, load_tokenizer
from course.kit.serving import EchoCore
from course.kit.serving.access import LOOPBACK, Access
from course.kit.serving.running import Runner, address, open_port
from course.kit.serving.web import Served, Server
from solutions.engine.backend import choose
from solutions.engine.core import EngineCore

HERE = Access(LOOPBACK)
AUTOGRADER = Path(sys.executable).with_name("autograder")


@dataclass
class Running:
    """A server that answers. stop: as a signal would, and again for a second one."""

    base: str
    model: str
    core: Any
    server: Server
    runner: Runner
    stop: Callable[[], None]
    thread: threading.Thread

    def client(self, **options: Any) -> openai.OpenAI:
        return client(self.base, **options)

    def at_rest(self, seconds: float = 10) -> tuple[int, int, int]:
        """(running, waiting, free blocks), once nobody is there any more, or after so many seconds."""
        until = time.monotonic() + seconds
        while (self.core.has_work or self.server.num_open) and time.monotonic() < until:
            time.sleep(0.01)
        return self.core.num_running, self.core.num_waiting, self.core.num_free_blocks

    def settle(self) -> None:
        """Waits until the step that is under way has ended: then who has left is gone."""
        done = threading.Event()
        assert self.runner.loop is not None

        async def after_a_step() -> None:
            if (step := self.core._step) is not None:
                await asyncio.wait((step,))
                await asyncio.sleep(0)
            done.set()

        asyncio.run_coroutine_threadsafe(after_a_step(), self.runner.loop)
        assert done.wait(30)

    def metrics(self) -> dict[str, float]:
        lines = httpx.get(f"{self.base}/metrics").text.splitlines()
        return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))}


def client(base: str, **options: Any) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{base}/v1", **{"api_key": "none", "max_retries": 0, "timeout": 60, **options})


def tiny() -> WeightsOnly:
    """In float64: no sum of a batch's tells an answer who is beside it."""
    return load_model("tiny", dtype=torch.float64)


@contextmanager
def running(
    model: WeightsOnly | str,
    *,
    rows: int = 4,
    waiting: int = 16,
    max_len: int | None = None,
    patience: float = 10,
    own: dict[str, Any] | None = None,
    key: str | None = None,
    origins: tuple[str, ...] = (),
) -> Iterator[Running]:
    """A server in a thread, with the engine behind it. Its blocks have to be free at the end."""
    chosen = choose(model, "auto", rows=rows, max_len=max_len, threads=1)
    core = EngineCore(chosen, threads=1)
    name = model if isinstance(model, str) else model.config.name
    try:
        described = Served(name, chosen.tokenizer, chosen.config.vocab_size, chosen.max_len, version=__version__)
        with before(core, described, waiting, patience, own or {}, Access(LOOPBACK, key, origins)) as it:
            yield it
    finally:
        core.close()


@contextmanager
def echoing(*, step_seconds: float = 0.02, patience: float = 10) -> Iterator[Running]:
    """A server in a thread, and behind it no model: an answer is its prompt over again, a token a step."""
    tokenizer = load_tokenizer("tiny")
    core = EchoCore(max_running=16, step_seconds=step_seconds, num_blocks=10_000)
    with before(core, Served("echo", tokenizer, 1024, 2048, version=__version__), 16, patience, {}) as it:
        yield it


@contextmanager
def before(
    core: Any, served: Served, waiting: int, patience: float, own: dict[str, Any], access: Access = HERE
) -> Iterator[Running]:
    """A server before this core."""
    free = core.num_free_blocks
    opened = open_port("127.0.0.1", 0)
    server = Server(core, parts(own), served, max_waiting=waiting, access=access)
    started = threading.Event()
    runner = Runner(server, started.set, patience)
    thread = threading.Thread(target=lambda: runner.run(sockets=[opened]), daemon=True)
    thread.start()
    assert started.wait(60), "the server did not start"
    loop = runner.loop
    it = Running(address(opened), served.name, core, server, runner, lambda: loop.call_soon_threadsafe(runner.leave), thread)
    try:
        yield it
        if thread.is_alive():
            assert it.at_rest() == (0, 0, free)
    finally:
        if thread.is_alive():
            it.stop()
        thread.join(30)
        assert not thread.is_alive()


@contextmanager
def slow(core: EngineCore, seconds: float = 0.02) -> Iterator[None]:
    """Each step takes so much longer: what a test does meanwhile has the time, on any machine."""
    forward = core._serving._forward

    def slowed(*arguments: Any) -> Any:
        time.sleep(seconds)
        return forward(*arguments)

    core._serving._forward = slowed
    try:
        yield
    finally:
        core._serving._forward = forward


@dataclass
class Command:
    """`autograder serve`, which has said where it answers. printed: its lines so far."""

    process: subprocess.Popen[str]
    base: str
    printed: list[str]


@contextmanager
def command(*options: str, env: dict[str, str] | None = None) -> Iterator[Command]:
    """`autograder serve` on a free port."""
    process = subprocess.Popen(
        [str(AUTOGRADER), "serve", "--port", "0", *options],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, "OMP_NUM_THREADS": "1", **(env or {})},
    )  # fmt: skip
    assert process.stdout is not None
    printed: list[str] = []
    try:
        for line in process.stdout:
            printed.append(line.rstrip("\n"))
            if found := re.match(r"\S+ answers at (http://\S+) ", line):
                printed += [process.stdout.readline().rstrip("\n") for _ in range(2)]
                yield Command(process, found[1], printed)
                return
        raise AssertionError("it did not start:\n" + "\n".join(printed))
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(10)
        process.stdout.close()
