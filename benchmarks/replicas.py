"""Two replicas behind a router, and chats that share one of four beginnings: routed by the beginning, and in turns.

python benchmarks/replicas.py                        # about six minutes; writes benchmarks/results/replicas.md and its data
python benchmarks/replicas.py --requests 8 --caches 4096   # a trial; writes nothing

It needs HAProxy (on Debian: apt-get install haproxy). All requests go to 127.0.0.1.
"""

import argparse
import asyncio
import json
import random
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import httpx
import torch
from common import ROOT, machine, save
from server import free_port, started

sys.path.append(str(ROOT))
from autograder.serving.replicas import share
from autograder.serving.router import haproxy
from course.kit import load_tokenizer, paths
from solutions.latency import percentile
from solutions.serving import SSEParser, poisson_arrivals, run_load

REPLICAS, ROWS, TOKENS, SEED = 2, 3, 16, 19
HOUSES, RULES = ("Ash", "Birch", "Cedar", "Dogwood"), 31
REQUESTS, RATE = 32, 0.5
CACHES = (4096, 2048)
ROUTES = ("beginning", "turns")
COUNTED = """\
Each request is a chat: one of {houses} system messages of {tokens} tokens, drawn again for each request, and a question of its own;
temperature 0, {new} tokens of answer at most, streamed. {requests} requests come as a Poisson process of {rate:g} a second (seed {seed}),
the same ones in every row, whether or not others have been answered. Each row begins with {replicas} new replicas, whose caches are
empty. "Found" is the share of all prompt tokens that were in the cache of the replica that was asked, as /metrics counts them. TTFT is the
time from when a request was due until the first text of its answer had come through the router. "At each" are the requests that each
replica answered. Every replica: float32, {rows} rows, threads: {threads}. A cache has room for this many tokens of all texts together,
running requests included."""


def system_message(house: str) -> str:
    """Return a system message of some hundreds of tokens, with rules that no other house has."""
    rng = random.Random(house)
    rules = (f"Rule {i}: {rng.randrange(1000, 10000)} goes before {rng.randrange(1000, 10000)}." for i in range(1, RULES + 1))
    return "\n".join([f"You keep the rules of House {house}.", *rules])


def chats(count: int) -> list[list[dict[str, str]]]:
    """Return the messages of each request."""
    rng = random.Random(SEED)
    return [
        [
            {"role": "system", "content": system_message(rng.choice(HOUSES))},
            {"role": "user", "content": f"What goes before {rng.randrange(1000, 10000)}?"},
        ]
        for _ in range(count)
    ]


async def measure(base: str, requests: int, rate: float) -> dict[str, Any]:
    """Measure one row of the table: the result of each request, and the changes of the replicas' counts."""
    uniforms = torch.rand(requests, generator=torch.Generator().manual_seed(SEED), dtype=torch.float64).tolist()
    asked, who = chats(requests), Counter[str]()
    async with httpx.AsyncClient(base_url=base, timeout=600, limits=httpx.Limits(max_connections=None)) as client:

        async def send(i: int) -> AsyncIterator[str]:
            body = {"messages": asked[i], "max_tokens": TOKENS, "temperature": 0, "stream": True}
            async with client.stream("POST", "/v1/chat/completions", json=body) as answer:
                answer.raise_for_status()
                who[answer.headers["x-replica"]] += 1
                parser = SSEParser()
                async for piece in answer.aiter_bytes():
                    for event in parser.push(piece):
                        if event != "[DONE]" and any(choice["delta"].get("content") for choice in json.loads(event)["choices"]):
                            yield event

        before = figures(await client.get("/metrics"))
        traces = await run_load(send, poisson_arrivals(rate, uniforms), time.perf_counter, asyncio.sleep)
        after = figures(await client.get("/metrics"))
    answered = [trace for trace in traces if trace is not None and trace.token_times]
    return {
        "prompt_tokens": after["prompt"] - before["prompt"],
        "cached_tokens": after["cached"] - before["cached"],
        "at_each": sorted(who.values(), reverse=True),
        "ttft_ms": [round(1e3 * trace.ttft) for trace in answered],
    }


def figures(answer: httpx.Response) -> dict[str, int]:
    """Return the counts of prompt tokens and of cached tokens in /metrics."""
    values = dict(line.rsplit(" ", 1) for line in answer.text.splitlines() if not line.startswith("#"))
    return {"prompt": int(float(values['fpt_tokens_total{kind="prompt"}'])), "cached": int(float(values["fpt_cached_tokens_total"]))}


def command(port: int, model: str, cache: int, route: str) -> list[str]:
    """Return the command that starts the replicas.

    A float engine's cache has room for the larger of max_len tokens and the tokens of all rows together, up to 4096.
    """
    words = [sys.executable, "-m", "autograder.cli", "serve", "--replicas", str(REPLICAS), "--route", route, "--model", model]
    return [*words, "--port", str(port), "--rows", str(ROWS), "--max-len", str(cache // ROWS if cache < 4096 else 2048)]


def table(rows: list[dict[str, Any]]) -> str:
    lines = ["| cache, tokens | route | found | TTFT p50, s | p90 | longest | at each |", "|---:|---|---:|---:|---:|---:|---|"]
    for row in rows:
        times = " | ".join(f"{percentile(row['ttft_ms'], q) / 1e3:.2f}" for q in (50, 90, 100))
        found = row["cached_tokens"] / row["prompt_tokens"]
        lines.append(f"| {row['cache']:,} | {row['route']} | {found:.1%} | {times} | {', '.join(map(str, row['at_each']))} |")
    return "\n".join(lines)


def page(result: dict[str, Any]) -> str:
    counted = COUNTED.format(
        houses=len(HOUSES), tokens=result["system_tokens"], new=TOKENS, requests=result["requests"], rate=result["rate"], seed=SEED,
        replicas=REPLICAS, rows=ROWS, threads=result["threads"],
    )  # fmt: skip
    return (
        f"# Two replicas behind a router\n\n{table(result['rows'])}\n\nMeasured on {result['machine']}; {result['model']}.\n\n{counted}\n"
    )


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--requests", type=int, default=REQUESTS)
    arguments.add_argument("--rate", type=float, default=RATE, help="requests a second")
    arguments.add_argument("--caches", type=int, nargs="+", default=CACHES, help="tokens in a replica's cache")
    arguments.add_argument("--model", default="smollm2")
    asked = arguments.parse_args()
    haproxy()
    if asked.model == "smollm2" and not paths.SMOLLM2.exists():
        raise SystemExit(f"{paths.SMOLLM2} is not here: make model")
    tokenizer = load_tokenizer(asked.model)
    sizes = [len(tokenizer.encode(system_message(house))) for house in HOUSES]
    result: dict[str, Any] = {
        "machine": machine(), "model": asked.model, "requests": asked.requests, "rate": asked.rate, "threads": share(REPLICAS),
        "system_tokens": f"{min(sizes)} to {max(sizes)}", "rows": [],
    }  # fmt: skip
    for cache in asked.caches:
        for route in ROUTES:
            port = free_port()
            with started(command(port, asked.model, cache, route), port) as base:
                row = {"cache": cache, "route": route, **asyncio.run(measure(base, asked.requests, asked.rate))}
            result["rows"].append(row)
            print(table([row]).splitlines()[-1], flush=True)
    if (asked.requests, asked.rate, tuple(asked.caches), asked.model) == (REQUESTS, RATE, CACHES, "smollm2"):
        save("replicas", result, page(result))


if __name__ == "__main__":
    main()
