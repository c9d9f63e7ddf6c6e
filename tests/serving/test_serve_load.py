"""The server under more than it can do: four times its capacity, and half of those who come leave half-way."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from typing import Any

import httpx
import psutil
import pytest
import torch

from solutions.serving import SSEParser, poisson_arrivals

from ..support.served import command

ROWS, WAITING, TOKENS, REQUESTS = 8, 16, 32, 200
PROMPT = "ROMEO:\nBut soft, what light"
MEBIBYTE = 2**20


def body(seed: int) -> dict[str, Any]:
    return {"prompt": f"{PROMPT} {seed}", "max_tokens": TOKENS, "temperature": 1.0, "seed": seed, "stream": True}


async def visit(client: httpx.AsyncClient, seed: int, leaves: bool) -> str:
    """A request, of whose answer half is read, or all -> how it went."""
    parser, events_read = SSEParser(), 0
    async with client.stream("POST", "/v1/completions", json=body(seed)) as answer:
        if answer.status_code != 200:
            assert answer.status_code == 429
            assert answer.headers["retry-after"] == "1"
            return "refused"
        async for piece in answer.aiter_bytes():
            events = parser.push(piece)
            events_read += len(events)
            if leaves and events_read >= TOKENS // 2:
                return "left"
            if "[DONE]" in events:
                return "served"
    raise AssertionError("a stream without an end")


async def storm(base: str, rate: float, draw: int) -> Counter[str]:
    """200 requests as they come by chance, half of which leave -> how often each went how."""
    generator = torch.Generator().manual_seed(draw)
    arrivals = poisson_arrivals(rate, torch.rand(REQUESTS, generator=generator, dtype=torch.float64).tolist())
    leaving = set(torch.randperm(REQUESTS, generator=generator)[: REQUESTS // 2].tolist())
    start = time.monotonic()
    async with httpx.AsyncClient(base_url=base, timeout=60, limits=httpx.Limits(max_connections=None)) as client:

        async def one(i: int) -> str:
            await asyncio.sleep(max(0.0, start + arrivals[i] - time.monotonic()))
            return await visit(client, i, i in leaving)

        async with asyncio.timeout(120):
            return Counter(await asyncio.gather(*(one(i) for i in range(REQUESTS))))


async def capacity(base: str) -> float:
    """Requests a second: full batches, one after the other."""
    async with httpx.AsyncClient(base_url=base, timeout=60) as client:
        start = time.monotonic()
        for _ in range(3):
            assert Counter(await asyncio.gather(*(visit(client, seed, False) for seed in range(ROWS)))) == {"served": ROWS}
    return 3 * ROWS / (time.monotonic() - start)


def metrics(base: str) -> dict[str, float]:
    lines = httpx.get(f"{base}/metrics").text.splitlines()
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))}


def at_rest(base: str, seconds: float = 30) -> dict[str, float]:
    """The gauges, once nobody runs or waits, or after so many seconds."""
    until = time.monotonic() + seconds
    while True:
        gauges = {name: value for name, value in metrics(base).items() if name in ("fpt_num_running", "fpt_num_waiting", "fpt_free_blocks")}
        if gauges["fpt_num_running"] == gauges["fpt_num_waiting"] == 0 or time.monotonic() > until:
            return gauges
        time.sleep(0.05)


@pytest.mark.slow
def test_four_times_as_many_as_it_can_serve_leave_nothing_behind(record_property):
    with command("--model", "tiny", "--rows", str(ROWS), "--waiting", str(WAITING)) as served:
        idle = at_rest(served.base)
        assert (idle["fpt_num_running"], idle["fpt_num_waiting"]) == (0, 0)
        asyncio.run(capacity(served.base))  # what is made once is made
        rate = 4 * asyncio.run(capacity(served.base))
        total, resident = Counter[str](), []
        for draw in range(3):
            total += asyncio.run(storm(served.base, rate, draw))
            assert at_rest(served.base) == idle
            resident.append(psutil.Process(served.process.pid).memory_info().rss)
        sizes = ", ".join(f"{size / MEBIBYTE:.0f}" for size in resident)
        record_property("says", f"{rate:.0f} requests/s, {dict(total)}, resident {sizes} MiB")
        assert total.total() == 3 * REQUESTS
        assert min(total[how] for how in ("served", "left", "refused")) > 0  # it was too much, and some were served all the same
        assert resident[2] - resident[1] < 8 * MEBIBYTE  # 200 requests more, and none of them stays in memory
        counted = metrics(served.base)
        assert counted['fpt_requests_total{status="429"}'] == total["refused"]
        assert 0 < counted["fpt_aborted_total"] <= total["left"]  # a client that leaves may get the rest before the server notices
        answer = httpx.post(f"{served.base}/v1/completions", json={**body(0), "stream": False}, timeout=60)
        assert answer.json()["usage"]["completion_tokens"] > 0
