"""Commands that talk with a model: serve, an OpenAI-compatible server with a chat page; chat, in a terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from ..base.errors import CourseError

if TYPE_CHECKING:
    from course.kit.serving.access import Access


def register(app: typer.Typer) -> None:
    app.command()(serve)
    app.command()(chat)


def serve(
    model: Annotated[str, typer.Option(help="smollm2, tiny, or the path of a .gguf file or a folder.")] = "smollm2",
    port: Annotated[int, typer.Option(help="Port; 0 picks a free one.")] = 8000,
    host: Annotated[str, typer.Option(help="Address to listen on: 127.0.0.1 for this machine, 0.0.0.0 for the network.")] = "127.0.0.1",
    engine: Annotated[str, typer.Option(help="reference, or mine: your Day 18 functions that pass their checks.")] = "reference",
    dtype: Annotated[
        str | None, typer.Option(help="auto: the file's 4-bit blocks if supported; float32: float weights and a shared prefix cache.")
    ] = None,
    replicas: Annotated[int, typer.Option(min=1, help="Number of servers behind HAProxy; float32 by default.")] = 1,
    route: Annotated[str | None, typer.Option(help="Choice of a replica: beginning (of the text), or turns.")] = None,
    rows: Annotated[int, typer.Option(min=1, help="Maximum concurrent requests.")] = 8,
    waiting: Annotated[int, typer.Option(min=1, help="Queue length; further requests get 429.")] = 64,
    max_len: Annotated[int | None, typer.Option(min=2, help="Maximum tokens of prompt and answer; default: 2048 at most.")] = None,
    patience: Annotated[float, typer.Option(min=0, help="Seconds to finish open requests on shutdown.")] = 10,
    api_key: Annotated[
        str | None, typer.Option(help="Key that clients must send. In the environment as VLLM_API_KEY, it is not in the process list.")
    ] = None,
    cors: Annotated[list[str] | None, typer.Option(metavar="ORIGIN", help="Site whose pages may use the server; repeatable.")] = None,
    fd: Annotated[int | None, typer.Option(hidden=True, help="A listening socket, instead of host and port.")] = None,
) -> None:
    """Serve a model: a chat page, and OpenAI's API. Ctrl-C finishes open requests, then stops."""
    if engine not in ("reference", "mine"):
        raise CourseError(f"ENGINE must be reference or mine, got {engine}")
    if dtype not in (None, "auto", "float32"):
        raise CourseError(f"DTYPE must be auto or float32, got {dtype}")
    if route is not None and replicas == 1:
        raise CourseError("ROUTE chooses between replicas: add REPLICAS=2 (--replicas 2), or leave ROUTE out")
    access = access_rules(host, api_key, cors or (), routed=fd is not None)
    if replicas > 1:
        from ..serving.replicas import serve_replicas

        each = {"model": model, "engine": engine, "dtype": dtype or "float32", "rows": rows, "waiting": waiting, "patience": patience}
        options = [word for name, value in {**each, "max-len": max_len}.items() if value is not None for word in (f"--{name}", str(value))]
        options += [word for origin in cors or () for word in ("--cors", origin)]
        raise typer.Exit(serve_replicas(replicas, options, host=host, port=port, route=route or "beginning", key=access.key))
    from ..serving.server import serve as run

    status = run(
        model=model, host=host, port=port, fd=fd, mine=engine == "mine", dtype=dtype or "auto", rows=rows, max_waiting=waiting,
        max_len=max_len, patience=patience, access=access,
    )  # fmt: skip
    raise typer.Exit(status)


def access_rules(host: str, key: str | None, origins: Sequence[str], *, routed: bool) -> Access:
    """Return the rules for who may use the server. Raises CourseError for a key or an origin that no client could send.

    key: the option; the environment's key if it is None. routed: whether the server is a replica behind a router.
    """
    from course.kit.serving.access import KEY_VARIABLE, LOOPBACK, Access

    try:
        return Access(
            hosts=LOOPBACK if host in LOOPBACK and not routed else None,
            key=os.environ.get(KEY_VARIABLE) if key is None else key,
            origins=tuple(origins),
            routed=routed,
        )
    except ValueError as error:
        raise CourseError(str(error)) from None


def chat(
    model: Annotated[str, typer.Option(help="smollm2, tiny, or the path of a .gguf file or a folder.")] = "smollm2",
    mine: Annotated[bool, typer.Option("--mine", help="Use your own functions that pass their checks.")] = False,
    temperature: Annotated[float, typer.Option(min=0, max=2, help="0 takes the most probable token.")] = 0.7,
    top_p: Annotated[float, typer.Option(help="Probability mass to sample from; 1 keeps all tokens.")] = 0.9,
    max_tokens: Annotated[int, typer.Option(min=1, help="Maximum tokens of an answer.")] = 512,
    seed: Annotated[int | None, typer.Option(help="The same seed gives the same answers.")] = None,
) -> None:
    """Talk with a model in the terminal, through the functions of the days."""
    if not 0 < top_p <= 1:
        raise CourseError(f"--top-p must be in (0, 1], got {top_p}")
    from ..serving.chat import chat as run

    run(model=model, mine=mine, temperature=temperature, top_p=top_p, max_tokens=max_tokens, seed=seed, source=sys.stdin, out=sys.stdout)
