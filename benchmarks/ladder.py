"""The ladder that a student climbs, and the peers beside it, in one run: tokens a second of SmolLM2 after a prompt of 64.

python benchmarks/ladder.py            # writes results/ladder.md and its data; then `python -m autograder.site.readme` renews the README
python benchmarks/ladder.py --quick    # one round of few tokens, nothing written
"""

import argparse
import importlib.util
import os
import statistics
from typing import Any

import engine
import torch
from common import machine, save
from torch import Tensor

from solutions.generation import stream
from solutions.kv_cache import KVCache, decode_step, prefill
from solutions.transformer import forward

LOOP, CACHE, BATCH = "Day 7, float32", "Day 10, float32", "Day 11, float32"
ENGINES = ["ours, float32", "ours, quantized", "transformers, float32", engine.LLAMA, engine.LLAMA_OWN]
RUNGS = {1: [LOOP, CACHE, *ENGINES], 16: [BATCH, *ENGINES]}
PROMPT = 64
COUNTED = """\
Days 7, 10 and 11 are the course's own answers, what a student writes there: the loop passes all of the text through the model for each new
token, the cache only the new one, and the batch one new token for each of its rows. "ours, float32" is the course's engine,
`StaticEngine`; "ours, quantized" its engine that decodes from the blocks of 4 bits of the file, as llama.cpp does; its fastest
format is what its own quantizer made of the file, chosen as [engine](engine.md) says.

All get the same random prompts, the same weights and the same number of threads, in one process, one directly after the other, in
rounds whose order turns round; the round before the first is not counted. Decode is from the first new token to the last, greedy, in
tokens of all rows; prefill from the call to the first. The table has medians of the rounds."""


def the_loop(ids: Tensor, new: int) -> engine.Run:
    """Generate with Day 7's loop, without a cache."""
    model = engine.weights("float32")
    start = engine.clock()
    tokens = stream(
        lambda ids: forward(model, ids), ids, max_new_tokens=new, block_size=model.config.max_position_embeddings, temperature=0.0
    )
    next(tokens)
    first = engine.clock()
    assert sum(1 for _ in tokens) == new - 1
    return {"prefill": first - start, "decode": engine.clock() - first}


def the_cache(ids: Tensor, new: int) -> engine.Run:
    """Generate one text with Day 10's cache; each token passes through the model once."""
    model = engine.weights("float32")
    memory = KVCache(model.config, len(ids), ids.shape[1] + new, model.dtype)
    with torch.no_grad():
        return engine.greedy(ids, new, lambda ids: prefill(model, ids, memory), lambda ids: decode_step(model, ids, memory))


def contender(name: str) -> engine.Contender:
    return {LOOP: the_loop, CACHE: the_cache}.get(name) or engine.contender(name)


def row(name: str, B: int, new: int, runs: list[engine.Run]) -> dict[str, Any]:
    seconds = {part: statistics.median(float(run[part][0]) for run in runs) for part in ("prefill", "decode")}
    return {
        "contender": name,
        "prompt": PROMPT,
        "batch": B,
        "new": new,
        "prefill": B * PROMPT / seconds["prefill"],
        "decode": B * (new - 1) / seconds["decode"],
        "rounds": len(runs),
        "load": os.getloadavg()[0],
    }


def page(result: dict[str, Any]) -> str:
    lines = ["# The ladder, SmolLM2-135M", "", f"Tokens a second after a prompt of {PROMPT} tokens.", ""]
    lines += ["| B | | prefill | decode | decode, times Day 7's loop | load |", "|---:|---|---:|---:|---:|---:|"]
    loop = next(row["decode"] for row in result["rows"] if row["contender"] == LOOP)
    for row in result["rows"]:
        lines.append(
            f"| {row['batch']} | {row['contender']} | {row['prefill']:.0f} | {row['decode']:.1f} | {row['decode'] / loop:.1f} "
            f"| {row['load']:.1f} |"
        )
    lines += ["", '"load" is the load average of the last minute, at the end of the row; the contender that runs counts in it.', ""]
    lines += engine.spaced([f"Not measured: {name}: {why}." for name, why in result["left_out"].items()])
    return "\n".join([*lines, f"Machine: {result['machine']}; {result['versions']}.", "", COUNTED])


def main() -> int:
    parser = argparse.ArgumentParser(description=COUNTED, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--new", type=int, default=33, help="new tokens of a row")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="one round of few tokens, nothing written")
    arguments = parser.parse_args()
    new, rounds = (5, 1) if arguments.quick else (arguments.new, arguments.rounds)
    left_out = {}
    if importlib.util.find_spec("llama_cpp") is None:
        why = "llama-cpp-python is not installed (extra `llama`; it compiles for some minutes)"
        left_out = dict.fromkeys((engine.LLAMA, engine.LLAMA_OWN), why)
    rows = []
    for B, names in RUNGS.items():
        there = [name for name in names if name not in left_out]
        runs = engine.measured(there, B, PROMPT, new, of=contender, rounds=(rounds, 1))
        for name, found in runs.items():
            rows.append(row(name, B, new, found))
            print(f"B = {B:2}  {name:24} {rows[-1]['decode']:8.1f} tokens/s", flush=True)
    result = {"machine": machine(), "versions": engine.versions(), "left_out": left_out, "rows": rows}
    if not arguments.quick:
        save("ladder", result, page(result))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
