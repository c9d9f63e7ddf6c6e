"""Commands that let a model speak: serve, an OpenAI-compatible address with a chat page; chat, in a terminal."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from ..base.errors import CourseError


def register(app: typer.Typer) -> None:
    app.command()(serve)
    app.command()(chat)


def serve(
    model: Annotated[str, typer.Option(help="smollm2, tiny, or the path of a .gguf file or a folder.")] = "smollm2",
    port: Annotated[int, typer.Option(help="The port; 0 takes any that is free.")] = 8000,
    host: Annotated[str, typer.Option(help="Who is let in: 127.0.0.1, this machine; 0.0.0.0, all that reach it.")] = "127.0.0.1",
    engine: Annotated[str, typer.Option(help="reference, or mine: what of your Day 18 passes its checks is taken.")] = "reference",
    dtype: Annotated[
        str | None, typer.Option(help="auto: a file's own blocks of 4 bits where it can; float32: numbers, in a cache that texts share.")
    ] = None,
    replicas: Annotated[int, typer.Option(min=1, help="So many servers side by side, and HAProxy in front; float32 by default.")] = 1,
    route: Annotated[str | None, typer.Option(help="How replicas divide requests: beginning (of the text), or turns.")] = None,
    rows: Annotated[int, typer.Option(min=1, help="Requests that run at a time.")] = 8,
    waiting: Annotated[int, typer.Option(min=1, help="Requests that may wait; who comes then is told 429.")] = 64,
    max_len: Annotated[int | None, typer.Option(min=2, help="Tokens of prompt and answer together; 2048 or the model's limit.")] = None,
    patience: Annotated[float, typer.Option(min=0, help="At the end, seconds that open answers are waited for.")] = 10,
    fd: Annotated[int | None, typer.Option(hidden=True, help="A socket that listens already, in place of host and port.")] = None,
) -> None:
    """Serves a model: a chat page, and OpenAI's API for clients. Ctrl-C ends it when all answers are finished."""
    if engine not in ("reference", "mine"):
        raise CourseError(f"ENGINE must be reference or mine, got {engine}")
    if dtype not in (None, "auto", "float32"):
        raise CourseError(f"DTYPE must be auto or float32, got {dtype}")
    if route is not None and replicas == 1:
        raise CourseError("ROUTE chooses between replicas: add REPLICAS=2 (--replicas 2), or leave ROUTE out")
    if replicas > 1:
        from ..serving.replicas import serve_replicas

        each = {"model": model, "engine": engine, "dtype": dtype or "float32", "rows": rows, "waiting": waiting, "patience": patience}
        options = [word for name, value in {**each, "max-len": max_len}.items() if value is not None for word in (f"--{name}", str(value))]
        raise typer.Exit(serve_replicas(replicas, options, host=host, port=port, route=route or "beginning"))
    from ..serving.server import serve as run

    status = run(
        model=model, host=host, port=port, fd=fd, mine=engine == "mine", dtype=dtype or "auto", rows=rows, max_waiting=waiting,
        max_len=max_len, patience=patience,
    )  # fmt: skip
    raise typer.Exit(status)


def chat(
    model: Annotated[str, typer.Option(help="smollm2, tiny, or the path of a .gguf file or a folder.")] = "smollm2",
    mine: Annotated[bool, typer.Option("--mine", help="Through your own functions of each day whose checks pass.")] = False,
    temperature: Annotated[float, typer.Option(min=0, max=2, help="0 takes the most probable token.")] = 0.7,
    top_p: Annotated[float, typer.Option(help="The mass that is drawn from; 1 takes all.")] = 0.9,
    max_tokens: Annotated[int, typer.Option(min=1, help="Tokens of one answer, at most.")] = 512,
    seed: Annotated[int | None, typer.Option(help="The same seed gives the same answers.")] = None,
) -> None:
    """Talks with a model in the terminal, through the functions that the days teach."""
    if not 0 < top_p <= 1:
        raise CourseError(f"--top-p must be in (0, 1], got {top_p}")
    from ..serving.chat import chat as run

    run(model=model, mine=mine, temperature=temperature, top_p=top_p, max_tokens=max_tokens, seed=seed, source=sys.stdin, out=sys.stdout)
