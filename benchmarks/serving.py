"""One trace of requests served in different ways: static batches, continuous batching with whole prompts, with prompts in chunks.

python benchmarks/serving.py                      # 15 to 20 minutes; writes benchmarks/results/serving.md, serving.svg and their data
python benchmarks/serving.py --requests 20        # the first 20 requests only; writes nothing
python benchmarks/serving.py --page               # the page and the picture again, from the existing figures
"""

import argparse
import json
import os
import random
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from common import RESULTS, ROOT, processor, save

sys.path.append(str(ROOT))
from course.kit import load_model, plots
from solutions.batching import left_pad
from solutions.engine import PackedModel, Request, ServingEngine, StaticEngine
from solutions.latency import Trace, goodput, percentile, summarize

REQUESTS, RATE, SEED = 200, 1.2, 14
SHORT, LONG, LONG_SHARE, NEW = (16, 128), (256, 512), 0.1, (8, 32)
TTFT_SLO, ITL_SLO = 3.0, 0.6
MAX_RUNNING, BLOCK_SIZE = 16, 16
COUNTED = f"""\
The trace is drawn once, with seed {SEED}: {REQUESTS} requests as a Poisson process of {RATE:g} a second; {LONG_SHARE:.0%} of the prompts
have {LONG[0]} to {LONG[1]} tokens, the others {SHORT[0]} to {SHORT[1]}, spread evenly over the logarithm; {NEW[0]} to {NEW[1]} new tokens;
ids are random, so no two prompts begin alike. Every policy serves the same trace, one after the other in one process: a
request can be seen once its time has come. "static" waits only for the end of its batch. Then it takes the waiting requests,
first come, first served, up to its limit, pads them to the longest and decodes until the last of them has all its tokens (`StaticEngine`).
The others are `ServingEngine`, {MAX_RUNNING} running at most and memory for all of them; "whole prompts" has no budget of tokens a
step, "budget n" has n. Tokens are greedy and reach the user at the end of their step. The promise is a first token within
{TTFT_SLO:g} s and every further one within {ITL_SLO:g} s of the one before, settled on after trials with the first 20 requests
and before this run; the picture has every other. Goodput is the requests a second that kept both, over the time from the first arrival
to the last token."""
CLOCK = {
    "processor": "The clock is the process's own processor time, and jumps where nobody waits: work beside it costs caches, not turns.",
    "wall": "The clock is the real one.",
}


@dataclass
class Job:
    """A request of the trace. arrival: seconds from the trace's beginning."""

    arrival: float
    prompt: list[int]
    new: int


Serve = Callable[[PackedModel, list[Job], Any], list[Trace]]
"""A way to serve: (the model, the requests, a clock that begins now) -> a trace each."""


def trace(count: int, vocab_size: int, rate: float) -> list[Job]:
    """Return the first `count` requests of the one trace."""
    rng, clock, jobs = random.Random(SEED), 0.0, []
    for _ in range(count):
        clock += rng.expovariate(rate)
        low, high = LONG if rng.random() < LONG_SHARE else SHORT
        length = round(low * (high / low) ** rng.random())
        jobs.append(Job(clock, [rng.randrange(5, vocab_size) for _ in range(length)], rng.randint(*NEW)))
    return jobs


class WallClock:
    """A clock of the wall seconds since the object was made."""

    def __init__(self) -> None:
        self.start = time.perf_counter()

    def __call__(self) -> float:
        return time.perf_counter() - self.start

    def wait_until(self, moment: float) -> None:
        time.sleep(max(0.0, moment - self()))


class ProcessorClock:
    """A clock of this process's processor seconds since the object was made. Waiting takes no time: the clock jumps."""

    def __init__(self) -> None:
        self.start = time.process_time()

    def __call__(self) -> float:
        return time.process_time() - self.start

    def wait_until(self, moment: float) -> None:
        self.start -= max(0.0, moment - self())


CLOCKS: dict[str, Callable[[], WallClock | ProcessorClock]] = {"processor": ProcessorClock, "wall": WallClock}


def static(rows: int) -> Serve:
    def serve(model: PackedModel, jobs: list[Job], clock: Any) -> list[Trace]:
        traces, served = [], 0
        while served < len(jobs):
            clock.wait_until(jobs[served].arrival)
            now = clock()
            batch = [job for job in jobs[served : served + rows] if job.arrival <= now]
            served += len(batch)
            times: list[list[float]] = [[] for _ in batch]
            ids, num_pad = left_pad([job.prompt for job in batch], 0)
            most = max(job.new for job in batch)
            engine = StaticEngine(model, len(batch), ids.shape[1] + most)
            token = engine.prefill(ids, num_pad).argmax(dim=-1, keepdim=True)
            for step in range(most):
                if step:
                    token = engine.decode(token).argmax(dim=-1, keepdim=True)
                now = clock()
                for job, each in zip(batch, times, strict=True):
                    if step < job.new:
                        each.append(now)
            traces += [Trace(job.arrival, each) for job, each in zip(batch, times, strict=True)]
        return traces

    return serve


def continuous(token_budget: int) -> Serve:
    def serve(model: PackedModel, jobs: list[Job], clock: Any) -> list[Trace]:
        blocks = -(-max(len(job.prompt) + job.new for job in jobs) // BLOCK_SIZE)
        engine = ServingEngine(
            model, num_blocks=MAX_RUNNING * blocks, block_size=BLOCK_SIZE, token_budget=token_budget, max_running=MAX_RUNNING
        )
        requests = [Request(job.prompt, job.new, arrival=job.arrival) for job in jobs]
        times: dict[Request, list[float]] = {request: [] for request in requests}
        arriving = list(requests)
        while arriving or engine.has_work:
            if not engine.has_work:
                clock.wait_until(arriving[0].arrival)
            while arriving and arriving[0].arrival <= clock():
                engine.add(arriving.pop(0))
            new = engine.step()
            now = clock()
            for token in new:
                times[token.request].append(now)
        return [Trace(request.arrival, times[request]) for request in requests]

    return serve


POLICIES: dict[str, Serve] = {
    "static, 8": static(8),
    "static, 16": static(16),
    "whole prompts": continuous(10**6),
    "budget 256": continuous(256),
    "budget 128": continuous(128),
    "budget 64": continuous(64),
}


def figures(traces: list[Trace]) -> dict[str, float]:
    """Return the figures of a row of the table."""
    summary = summarize(traces)
    gaps = [gap for trace in traces for gap in trace.itl]
    rate = goodput(traces, TTFT_SLO, ITL_SLO)
    return {
        "tokens_per_second": summary["output_tokens_per_second"],
        "ttft_p50": summary["ttft_p50"],
        "ttft_p99": summary["ttft_p99"],
        "itl_p50": summary["itl_p50"],
        "itl_p99": summary["itl_p99"],
        "itl_max": max(gaps),
        "goodput": rate,
        "kept_share": rate / summary["requests_per_second"],
    }


def serve_all(model: PackedModel, jobs: list[Job], names: list[str], clock: str) -> list[dict[str, Any]]:
    rows = []
    for name in names:
        POLICIES[name](model, jobs[:2], ProcessorClock())  # warm up: costs of a first call are not counted
        start = time.perf_counter()
        traces = POLICIES[name](model, jobs, CLOCKS[clock]())
        assert [len(trace.token_times) for trace in traces] == [job.new for job in jobs]
        assert all(trace.ttft > 0 for trace in traces)
        row = {"policy": name, **figures(traces), "wall_seconds": time.perf_counter() - start, "load": os.getloadavg()[1]}
        print(line(row), flush=True)
        rows.append(row | {"token_ms": [[round(1e3 * moment) for moment in trace.token_times] for trace in traces]})
    return rows


def line(row: dict[str, Any]) -> str:
    gaps = " | ".join(f"{1e3 * row[name]:.0f}" for name in ("itl_p50", "itl_p99", "itl_max"))
    return (
        f"| {row['policy']} | {row['tokens_per_second']:.1f} | {row['ttft_p50']:.2f} | {row['ttft_p99']:.2f} | {gaps} "
        f"| {row['goodput']:.2f} | {row['kept_share']:.1%} | {row['load']:.1f} |"
    )


def draw(result: dict[str, Any]) -> None:
    """Draw results/serving.svg: how many requests would have kept each promise."""
    fig, axes = plots.figure(1, 2, width=9.6, height=3.2, sharey=True)
    panels = (("first token within, s", TTFT_SLO, lambda t: t.ttft), ("every further token within, s", ITL_SLO, lambda t: max(t.itl)))
    for ax, (label, slo, value) in zip(axes, panels, strict=True):
        for i, row in enumerate(result["rows"]):
            traces = [
                Trace(arrival, [ms / 1e3 for ms in moments]) for arrival, moments in zip(result["arrivals"], row["token_ms"], strict=True)
            ]
            values = [percentile([value(trace) for trace in traces], q) for q in range(101)]
            style = ("--", "-.", "-", "-", "-", ":")[i]
            ax.plot(values, range(101), color=plots.CYCLE[i], linestyle=style, label=row["policy"])
        ax.axvline(slo, color=plots.GREY, linewidth=0.8)
        ax.set_xscale("log")
        ax.set_xlabel(label)
        ax.grid(visible=True)
    axes[0].set_ylabel("requests, %")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside right center", frameon=False)
    plots.save(fig, RESULTS / "serving.svg")


def page(result: dict[str, Any]) -> str:
    lines = [
        "# Serving: static batches, continuous batching, prompts in chunks",
        "",
        "| policy | tokens/s | TTFT p50, s | p99 | ITL p50, ms | p99 | longest | goodput, requests/s | kept both | load |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
        *map(line, result["rows"]),
        "",
        "![Two panels with a curve a policy: of every hundred requests, how many had their first token within a time, and how many had "
        "every further token within a time. A grey line marks the promise.](serving.svg)",
        "",
        f'{CLOCK[result["clock"]]} "load" is the load average of five minutes at the end of a row. Beside it {result["beside"]}, '
        "not evenly: a row met more of it or less.",
        "",
        f"Machine: {result['machine']}; {result['model']} in float32, torch {result['torch']}, threads: {result['threads']}.",
        "",
        COUNTED,
    ]
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=COUNTED)
    parser.add_argument("--requests", type=int, default=REQUESTS)
    parser.add_argument("--rate", type=float, default=RATE, help="requests a second")
    parser.add_argument("--model", default="smollm2")
    parser.add_argument("--policy", nargs="+", choices=POLICIES, default=list(POLICIES))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--clock", choices=CLOCKS, default="processor")
    parser.add_argument("--beside", default="nothing else ran", help="what else ran, for the page")
    parser.add_argument("--page", action="store_true")
    given = parser.parse_args(arguments)
    if given.clock == "processor" and given.threads > 1:
        parser.error("the processor clock counts every thread: --clock wall, or one thread")
    if given.page:
        result = json.loads((RESULTS / "data" / "serving.json").read_text())
    else:
        torch.set_num_threads(given.threads)
        model = PackedModel(load_model(given.model).weights_only())
        jobs = trace(given.requests, model.config.vocab_size, given.rate)
        result = {
            "machine": processor(),
            "model": model.config.name,
            "torch": torch.__version__,
            "threads": given.threads,
            "clock": given.clock,
            "beside": given.beside,
            "arrivals": [job.arrival for job in jobs],
            "rows": serve_all(model, jobs, given.policy, given.clock),
        }
    whole = (given.requests, given.rate, given.model, given.policy) == (REQUESTS, RATE, "smollm2", list(POLICIES))
    if whole:
        save("serving", result, page(result))
        draw(result)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
