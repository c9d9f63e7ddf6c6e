"""A server on a port: opened before anything is loaded, announced when it answers, and ended without cutting anybody off."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import logging
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from .access import KEY_VARIABLE, LOOPBACK
from .web import Server

HEAD_SECONDS = 30.0
"""The seconds that a client may take from a connection, or the answer before, to the end of its request's head."""


class CannotListen(Exception):
    """The error of a port or address that cannot be opened: one line with the remedy."""


def open_port(host: str, port: int) -> socket.socket:
    """Return a socket that listens at the port; clients wait until the server answers. port 0: any free port. Raises CannotListen."""
    if not 0 <= port <= 65535:
        raise CannotListen(f"PORT must be 0 to 65535, got {port}")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    except (socket.gaierror, UnicodeError):
        raise CannotListen(f"HOST={host} is no address of this machine: leave HOST out for 127.0.0.1") from None
    opened = socket.socket(family, kind, protocol)
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a server that has just ended does not hold the port
        opened.bind(address)
        opened.listen()  # two bound sockets do not conflict unless they listen
    except OSError as error:
        opened.close()
        if error.errno == errno.EADDRINUSE:
            other = port % 65535 + 1
            message = f"port {port} is taken: end the program on it, or choose another port, `make serve PORT={other}` or --port {other}"
            raise CannotListen(message) from None
        if error.errno in (errno.EACCES, errno.EPERM):
            raise CannotListen(f"you may not open port {port}: choose a port above 1023, such as PORT=8000") from None
        raise CannotListen(f"the server cannot listen on HOST={host}: {error.strerror}") from None
    return opened


def address(opened: socket.socket) -> str:
    """Return the address for a browser on this machine."""
    host, port = opened.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
    return f"http://{host}:{port}"


def announce(where: str, name: str, host: str, *, keyed: bool = False) -> None:
    """Print the address and commands for trying the server. keyed: whether the server needs a key, which is not printed."""
    question = "Why is the sky blue?"
    print(f"{name} answers at {where} (the chat page; Ctrl-C ends it)")
    body = json.dumps({"messages": [{"role": "user", "content": question}], "max_tokens": 64, "temperature": 0, "stream": True})
    header, key, imported = "", "'none'", "openai"
    if keyed:
        header, key, imported = f' -H "Authorization: Bearer ${KEY_VARIABLE}"', f"os.environ['{KEY_VARIABLE}']", "os, openai"
        print(f"Clients must send the server's key. These two commands read it from the environment variable {KEY_VARIABLE}:")
    print(f"  curl -N {where}/v1/chat/completions{header} -H 'Content-Type: application/json' -d '{body}'")
    asking = f"model={name!r}, messages=[{{'role': 'user', 'content': '{question}'}}], max_tokens=64, temperature=0"
    answer = f"openai.OpenAI(base_url='{where}/v1', api_key={key}).chat.completions.create({asking})"
    print(f"""  python -c "import {imported}; print({answer}.choices[0].message.content)\"""")
    sys.stdout.flush()
    if host not in LOOPBACK:
        may = "use the model, without a key and without encryption" if not keyed else "send requests; key and texts are not encrypted"
        warning = f"Warning: HOST={host} lets every machine that can reach this one {may}."
        print(warning, file=sys.stderr, flush=True)


def serve(server: Server, opened: socket.socket, announce: Callable[[], None], *, patience: float) -> int:
    """Serve until SIGINT or SIGTERM. Return the exit status: 0, or 1 if the engine ended first.

    announce: called when the server accepts requests. On the first signal the server stops accepting requests (503). The server answers
    open requests for at most `patience` seconds and then ends. A second signal ends the server at once.
    """
    runner = Runner(server, announce, patience)
    runner.run(sockets=[opened])
    return 1 if server.failed.is_set() else 0


class HeadInTime(H11Protocol):
    """An HTTP/1.1 protocol that closes a connection if a request's head does not arrive in time."""

    waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.wait_for_head()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self.wait_for_head()

    def connection_lost(self, exc: Exception | None) -> None:
        if self.waiting is not None:
            self.waiting.cancel()
        super().connection_lost(exc)

    def wait_for_head(self) -> None:
        if self.waiting is not None:
            self.waiting.cancel()
        self.waiting = self.loop.call_later(HEAD_SECONDS, self.no_head)

    def no_head(self) -> None:
        """Close the connection of a client that sent no whole head in time, unless an answer is in progress."""
        if (self.cycle is None or self.cycle.response_complete) and not self.transport.is_closing():
            self.transport.close()


class Runner(uvicorn.Server):
    """A uvicorn server that still answers new clients after a signal; uvicorn itself would stop listening at once."""

    def __init__(self, server: Server, announce: Callable[[], None], patience: float) -> None:
        # h11 and asyncio's own loop, whatever else is installed: one way to run is one way to test.
        super().__init__(
            uvicorn.Config(
                server.app, http=HeadInTime, loop="asyncio", ws="none", lifespan="on", log_level="error", access_log=False,
                server_header=False, proxy_headers=False, timeout_graceful_shutdown=1,
            )
        )  # fmt: skip
        self.server, self.announce, self.patience = server, announce, patience
        self._ending: asyncio.Task[None] | None = None
        self.loop: asyncio.AbstractEventLoop | None = None  # of its thread, while it runs

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.loop = asyncio.get_running_loop()
        self._failing = asyncio.ensure_future(self._end_when_failed())
        self.announce()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield  # the main thread's handlers are its own
            return
        loop = asyncio.get_running_loop()
        signals = (signal.SIGINT, signal.SIGTERM)
        for each in signals:
            loop.add_signal_handler(each, self.leave)
        try:
            yield
        finally:
            for each in signals:
                loop.remove_signal_handler(each)

    def leave(self) -> None:
        """Begin to shut down. A second call ends the server at once."""
        if self._ending is None:
            self._ending = asyncio.ensure_future(self._end())
        else:
            self._cut()
            self.force_exit = True

    async def _end(self) -> None:
        self.server.drain()
        if self.server.num_open:
            what = "1 answer is" if self.server.num_open == 1 else f"{self.server.num_open} answers are"
            print(f"Ending: {what} finished first, for at most {self.patience:g} s. Ctrl-C again ends at once.", flush=True)
        else:
            print("Ended.", flush=True)
        until = asyncio.get_running_loop().time() + self.patience
        while self.server.num_open and asyncio.get_running_loop().time() < until:
            await asyncio.sleep(0.02)
        if self.server.num_open:
            print(f"Cut off after {self.patience:g} s: {self.server.num_open}", file=sys.stderr, flush=True)
            self._cut()
        self.should_exit = True

    def _cut(self) -> None:
        """End without waiting, and silence uvicorn, which would print a traceback for each connection that is cut off."""
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL + 1)
        self.config.timeout_graceful_shutdown = 0
        self.should_exit = True

    async def _end_when_failed(self) -> None:
        await self.server.failed.wait()
        self.leave()
