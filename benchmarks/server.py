"""`make serve` under load, beside llama.cpp's own server on the same file if one is installed: waiting times at each rate.

python benchmarks/server.py                       # some minutes; writes benchmarks/results/server.md and its data
python benchmarks/server.py --requests 8 --rates 1   # a trial; writes nothing

llama.cpp's server is `llama-server` on the PATH, or else `pip install "llama-cpp-python[server]"`, which compiles for some minutes and
answers one request at a time. If there is neither, a line says so, and only our server is measured. If `llama-quantize` is on the PATH
too, llama-server is measured a second time with a file of the format in which llama.cpp is fastest here (Q4_0), made from the same one.
All requests go to 127.0.0.1.
"""

import argparse
import asyncio
import importlib.util
import json
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import torch
from common import ROOT, machine, save

sys.path.append(str(ROOT))
from course.kit import paths
from course.kit.serving import RequestError
from solutions.latency import summarize
from solutions.serving import SSEParser, poisson_arrivals, run_load, served_goodput

ROWS, TOKENS, SEED = 8, 32, 18
RATES = (1.0, 2.0, 4.0, 8.0, 16.0)
REQUESTS = 60
TTFT_SLO, ITL_SLO = 1.0, 0.15
PROMPT = "Write a short story about a lighthouse keeper who finds a letter, number {}."
COUNTED = f"""\
Each request is a chat of one question and {TOKENS} tokens at most, temperature 0, streamed. Requests come as a Poisson process
(seed {SEED}), whether or not others have been answered; a time counts from when a request was due. A token is an event with text.
Every server has the same file, {paths.SMOLLM2.name}, and this machine's cores; "Q4_0" is that file in the format in which llama.cpp is
fastest here, made by its own quantizer. llama-server has {ROWS} slots and queues further requests, ours has {ROWS} rows and
room for 64 waiting requests. All questions begin alike. llama-server keeps the last text of each slot in its cache (its default);
ours, with a file's blocks, keeps nothing between texts. Goodput is the share of all requests, refused ones
among them, with a first token within {TTFT_SLO:g} s and each further one within {ITL_SLO:g} s of the one before."""


ALONE = "No llama.cpp server is installed here: ours is measured alone."


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def commands(port: int, fastest: Path | None = None) -> dict[str, list[str]]:
    """Return the command of each installed server. fastest: the path of the model in llama.cpp's fastest format."""
    found = {"ours": [sys.executable, "-m", "autograder.cli", "serve", "--port", str(port), "--rows", str(ROWS)]}
    room = str(ROWS * 2048)
    if binary := shutil.which("llama-server"):
        files = {"llama-server": paths.SMOLLM2} | ({"llama-server, Q4_0": fastest} if fastest else {})
        for name, file in files.items():
            found[name] = [binary, "-m", str(file), "--port", str(port), "-np", str(ROWS), "-c", room]
    elif importlib.util.find_spec("llama_cpp") and importlib.util.find_spec("sse_starlette"):
        module = [sys.executable, "-m", "llama_cpp.server", "--model", str(paths.SMOLLM2), "--host", "127.0.0.1"]
        found["llama_cpp.server"] = [*module, "--port", str(port), "--n_ctx", "2048"]
    return found


def in_fastest_format(folder: Path) -> Path | None:
    """Return the model in Q4_0, or None if llama.cpp's quantizer is not installed."""
    binary, made = shutil.which("llama-quantize"), folder / "SmolLM2.Q4_0.gguf"
    if binary is None:
        return None
    subprocess.run([binary, "--allow-requantize", paths.SMOLLM2, made, "Q4_0"], check=True, capture_output=True)
    return made


def build() -> str:
    """Return the version of llama-server, in one line."""
    binary = shutil.which("llama-server")
    if binary is None:
        return ""
    ran = subprocess.run([binary, "--version"], capture_output=True, text=True)
    return ", ".join(line.strip() for line in (ran.stdout + ran.stderr).splitlines() if line.startswith(("version", "built")))


@contextmanager
def started(command: list[str], port: int) -> Iterator[str]:
    """Start a server, and yield its address as soon as it answers."""
    base = f"http://127.0.0.1:{port}"
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(600):
            if process.poll() is not None:
                raise SystemExit(f"{command[0]} ended with status {process.returncode} before it answered")
            try:
                if httpx.get(f"{base}/v1/models", timeout=2).status_code == 200:
                    break
            except httpx.HTTPError:
                pass
            time.sleep(0.2)
        else:
            raise SystemExit(f"{command[0]} does not answer")
        yield base
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


async def measure(base: str, rate: float, requests: int) -> dict[str, Any]:
    """Measure one rate: how many requests were served, and how fast."""
    uniforms = torch.rand(requests, generator=torch.Generator().manual_seed(SEED), dtype=torch.float64).tolist()
    async with httpx.AsyncClient(base_url=base, timeout=300, limits=httpx.Limits(max_connections=None)) as client:

        async def send(i: int) -> AsyncIterator[str]:
            body = {"messages": [{"role": "user", "content": PROMPT.format(i)}], "max_tokens": TOKENS, "temperature": 0, "stream": True}
            async with client.stream("POST", "/v1/chat/completions", json=body) as answer:
                if answer.status_code in (429, 503):
                    raise RequestError("refused", status=answer.status_code)
                answer.raise_for_status()
                parser = SSEParser()
                async for piece in answer.aiter_bytes():
                    for event in parser.push(piece):
                        if event != "[DONE]" and any(choice["delta"].get("content") for choice in json.loads(event)["choices"]):
                            yield event

        await asyncio.gather(*(_read(send(i)) for i in range(ROWS)))  # warm up: build everything that is built once
        start = time.perf_counter()
        traces = await run_load(send, poisson_arrivals(rate, uniforms), time.perf_counter, asyncio.sleep)
        seconds = time.perf_counter() - start
    served = [trace for trace in traces if trace is not None and trace.token_times]
    summary = summarize(served)
    times = {name: summary[name] for name in ("ttft_p50", "ttft_p99", "itl_p50", "itl_p99")}
    speed = sum(len(trace.token_times) for trace in served) / seconds
    return {"rate": rate, "served": len(served), "refused": len(traces) - len(served), "tokens_per_second": speed, **times,
            "goodput": served_goodput(traces, TTFT_SLO, ITL_SLO)}  # fmt: skip


async def _read(tokens: AsyncIterator[str]) -> None:
    async for _ in tokens:
        pass


def table(runs: dict[str, list[dict[str, Any]]]) -> str:
    head = "| server | requests/s | served | refused | tokens/s | TTFT p50, p99 ms | ITL p50, p99 ms | goodput |"
    lines = [head, "|---" * 8 + "|"]
    for name, rows in runs.items():
        for row in rows:
            first, gap = (f"{1e3 * row[f'{kind}_p50']:.0f}, {1e3 * row[f'{kind}_p99']:.0f}" for kind in ("ttft", "itl"))
            lines.append(
                f"| {name} | {row['rate']:g} | {row['served']} | {row['refused']} | {row['tokens_per_second']:.1f} | {first} | {gap} "
                f"| {row['goodput']:.2f} |"
            )
    return "\n".join(lines)


def page(result: dict[str, Any]) -> str:
    where, built = result["machine"], result["llama_server"]
    alone = "" if len(result["runs"]) > 1 else f" {ALONE}"
    measured = f"Measured on {where}." + (f" llama-server: {built}." if built else "") + alone
    return f"# The server under load\n\n{table(result['runs'])}\n\n{measured}\n\n{COUNTED}\n"


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--rates", type=float, nargs="+", default=RATES)
    arguments.add_argument("--requests", type=int, default=REQUESTS)
    asked = arguments.parse_args()
    if not paths.SMOLLM2.exists():
        raise SystemExit(f"{paths.SMOLLM2} is not here: make model")
    with tempfile.TemporaryDirectory() as folder:
        fastest = in_fastest_format(Path(folder))
        found = list(commands(0, fastest))
        print(f"Measured: {', '.join(found)}" if len(found) > 1 else ALONE, flush=True)
        where, runs = machine(), {}
        for name in found:
            port = free_port()
            with started(commands(port, fastest)[name], port) as base:
                runs[name] = [asyncio.run(measure(base, rate, asked.requests)) for rate in asked.rates]
    print(table(runs))
    if (tuple(asked.rates), asked.requests) == (RATES, REQUESTS):
        result = {"machine": where, "llama_server": build(), "runs": runs}
        save("server", result, page(result))


if __name__ == "__main__":
    main()
