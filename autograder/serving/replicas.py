"""The command `make serve REPLICAS=2`: a router and several servers on this machine, each a process with its share of the cores."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import signal
import sys
import tempfile
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from socket import socket
from typing import Any

import httpx

from course.kit.serving.access import KEY_VARIABLE, LOOPBACK
from course.kit.serving.metrics import CONTENT_TYPE
from course.kit.serving.running import CannotListen, address, announce, open_port

from ..base.errors import CourseError
from ..base.wording import counted
from .router import configuration, haproxy, sum_of

SERVE = (sys.executable, "-m", "autograder.cli", "serve")
Process = asyncio.subprocess.Process
LIBC = ctypes.CDLL(None)
PR_SET_PDEATHSIG = 1
LAST_LINES_SECONDS = 1.0
HANG_SECONDS = 10.0
"""The time in seconds without any answer after which a replica is killed. A working or draining replica answers /health meanwhile."""


def serve_replicas(count: int, options: Sequence[str], *, host: str, port: int, route: str, key: str | None = None) -> int:
    """Serve until a signal. Return the exit status: 0, or 1 if the router or all replicas have ended by themselves.

    options: the options of `autograder serve` for each replica. If a replica cannot start with them, its exit status is returned. key: the
    key that clients must send; replicas get it in their environment. A first signal lets every replica finish its answers; a second one
    ends them at once. Raises CourseError, one line with the remedy.
    """
    program = haproxy()
    configuration(0, [], "", route)  # report an unknown route before a model is loaded
    try:
        opened = open_port(host, port)
    except CannotListen as error:
        raise CourseError(str(error)) from None
    with opened, tempfile.TemporaryDirectory(prefix="replicas-") as folder:
        return asyncio.run(Group(opened, host, route, program, Path(folder) / "haproxy.cfg", key).run(count, options))


def share(count: int) -> int:
    """Return the number of threads for each of `count` replicas, so none share a core if there are enough cores."""
    cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    return max(1, int(os.environ.get("OMP_NUM_THREADS") or cores) // count)


@dataclass(eq=False)
class Replica:
    """A server in a process of its own. where: host:port. lines: its output while it started."""

    number: int
    where: str
    process: Process
    lines: list[str] = field(default_factory=list)


class Group:
    """The replicas and their router, from their start to their end. opened: the socket that clients connect to."""

    def __init__(self, opened: socket, host: str, route: str, program: str, file: Path, key: str | None) -> None:
        self.opened, self.host, self.route, self.program, self.file = opened, host, route, program, file
        self.replicas: list[Replica] = []
        self.processes: list[Process] = []
        self.is_up, self.status = False, 0
        self.over = asyncio.Event()
        self.key = {} if key is None else {KEY_VARIABLE: key}
        bearer = {} if key is None else {"Authorization": f"Bearer {key}"}
        self.client = httpx.AsyncClient(timeout=None, trust_env=False, headers=bearer)

    async def run(self, count: int, options: Sequence[str]) -> int:
        for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(each, self.end)
        figures = await asyncio.start_server(self.tell_figures, "127.0.0.1", 0)
        threads = share(count)
        print(f"Starting {counted(count, 'replica')} with {counted(threads, 'thread')} each.", flush=True)
        try:
            for number in range(1, count + 1):
                self.replicas.append(await self.start_replica(number, options, threads))
            watching = [asyncio.create_task(self.watch(replica)) for replica in self.replicas]
            up = await self.unless_over(asyncio.gather(*(self.answer(f"http://{replica.where}") for replica in self.replicas)))
            watching += [asyncio.create_task(self.kill_if_it_hangs(replica)) for replica in self.replicas]
            if up:
                self.is_up = True
                print("\n".join(self.replicas[0].lines))  # all of them say the same
                await self.route_to_them(figures)
            await asyncio.gather(*watching)
            return self.status
        finally:
            for process in self.processes:
                if process.returncode is None:
                    process.kill()
                    await process.wait()
            figures.close()
            await self.client.aclose()

    def end(self) -> None:
        """Accept no new requests and let the replicas finish their answers. A second call ends them at once."""
        if self.over.is_set():
            for process in self.processes:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
            return
        self.over.set()
        for replica in self.replicas:
            with contextlib.suppress(ProcessLookupError):
                replica.process.send_signal(signal.SIGTERM)

    async def unless_over(self, work: Coroutine[Any, Any, Any] | asyncio.Future[Any]) -> bool:
        """Wait until the work is done or the group is ending. Return True unless the group is ending."""
        task, over = asyncio.ensure_future(work), asyncio.ensure_future(self.over.wait())
        await asyncio.wait((task, over), return_when=asyncio.FIRST_COMPLETED)
        over.cancel()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return not self.over.is_set()

    async def answer(self, base: str) -> None:
        """Wait until a server at this address answers /health."""
        while True:
            with contextlib.suppress(httpx.HTTPError):
                if (await self.client.get(f"{base}/health")).status_code == 200:
                    return
            await asyncio.sleep(0.05)

    # Processes

    async def start(self, command: Sequence[str], inherited: socket, at_our_end: signal.Signals, **environment: str) -> Process:
        """Start a process that inherits the socket and gets no Ctrl-C itself. at_our_end: the signal sent to it if we die (Linux)."""

        def ends_with_us() -> None:
            LIBC.prctl(PR_SET_PDEATHSIG, at_our_end)

        process = await asyncio.create_subprocess_exec(
            *command, pass_fds=(inherited.fileno(),), process_group=0, preexec_fn=ends_with_us if sys.platform == "linux" else None,
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
            env={**os.environ, **environment},
        )  # fmt: skip
        self.processes.append(process)
        return process

    async def start_replica(self, number: int, options: Sequence[str], threads: int) -> Replica:
        """Start one more replica at a free port. Clients that connect before it is ready wait."""
        with open_port("127.0.0.1", 0) as opened:
            command = [*SERVE, "--fd", str(opened.fileno()), *options]
            process = await self.start(command, opened, signal.SIGTERM, OMP_NUM_THREADS=str(threads), **self.key)
            return Replica(number, address(opened).removeprefix("http://"), process)

    async def watch(self, replica: Replica) -> None:
        """Print a replica's output until the replica has ended, and report an unexpected end."""
        passing = asyncio.create_task(self.pass_on(replica))
        status = await replica.process.wait()
        await asyncio.wait((passing,), timeout=LAST_LINES_SECONDS)
        if self.over.is_set():
            return
        if not self.is_up:
            print("\n".join(replica.lines), file=sys.stderr, flush=True)
            self.status = status if status > 0 else 1
            self.end()
            return
        how = signal.Signals(-status).name if status < 0 else f"status {status}"
        left = sum(each.process.returncode is None for each in self.replicas)
        rest = {0: "None is left.", 1: "The other one goes on."}.get(left, f"The other {left} go on.")
        print(f"Replica {replica.number} has ended ({how}). {rest}", file=sys.stderr, flush=True)
        if left == 0:
            self.status = 1
            self.end()

    async def kill_if_it_hangs(self, replica: Replica) -> None:
        """Watch a replica until it ends, and kill it if it does not answer for HANG_SECONDS."""
        clock = asyncio.get_running_loop().time
        last = clock()
        while replica.process.returncode is None:
            with contextlib.suppress(httpx.HTTPError):
                await self.client.get(f"http://{replica.where}/health", timeout=HANG_SECONDS)
                last = clock()
            if replica.process.returncode is None and clock() - last >= HANG_SECONDS:
                print(f"Replica {replica.number} has not answered for {HANG_SECONDS:g} s and is killed.", file=sys.stderr, flush=True)
                replica.process.kill()
                return
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(replica.process.wait(), 1)

    async def pass_on(self, replica: Replica) -> None:
        assert replica.process.stdout is not None
        async for line in replica.process.stdout:
            text = line.decode(errors="replace").rstrip("\n")
            if self.is_up:
                print(f"Replica {replica.number}: {text}", flush=True)
            else:
                replica.lines.append(text)

    # The router

    async def route_to_them(self, figures: asyncio.Server) -> None:
        """Run the router until all replicas have ended."""
        host, port = figures.sockets[0].getsockname()
        addresses, loopback = [each.where for each in self.replicas], self.host in LOOPBACK
        self.file.write_text(configuration(self.opened.fileno(), addresses, f"{host}:{port}", self.route, loopback=loopback))
        router = await self.start([self.program, "-db", "-f", str(self.file)], self.opened, signal.SIGUSR1)
        watching = asyncio.create_task(self.watch_router(router))
        if await self.unless_over(self.answer(address(self.opened))):
            listing = (await self.client.get(f"{address(self.opened)}/v1/models")).json()
            places = " and ".join(f"http://{each.where}" for each in self.replicas)
            print(f"HAProxy passes requests on to {places}; its configuration: {self.file}")
            announce(address(self.opened), listing["data"][0]["id"], self.host, keyed=bool(self.key))
        await asyncio.gather(*(replica.process.wait() for replica in self.replicas))
        with contextlib.suppress(ProcessLookupError):
            router.send_signal(signal.SIGUSR1)  # it still sends the answers that it has
        await watching

    async def watch_router(self, router: Process) -> None:
        output, _ = await router.communicate()
        if not self.over.is_set():
            print(f"The router has ended: {output.decode(errors='replace').strip()}", file=sys.stderr, flush=True)
            self.status = 1
            self.end()

    async def tell_figures(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer any request with the summed /metrics of all replicas; the router requests nothing else here."""
        with contextlib.closing(writer), contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            await reader.readuntil(b"\r\n\r\n")
            pages = await asyncio.gather(*(self.figures_of(replica) for replica in self.replicas))
            body = sum_of(page for page in pages if page is not None)
            writer.write(f"HTTP/1.0 200 OK\r\nContent-Type: {CONTENT_TYPE}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
            await writer.drain()

    async def figures_of(self, replica: Replica) -> str | None:
        with contextlib.suppress(httpx.HTTPError):
            return (await self.client.get(f"http://{replica.where}/metrics")).text
        return None
