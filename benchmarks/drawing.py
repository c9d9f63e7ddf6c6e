"""The cost of drawing: tokens a second of the same prompt, greedy and with a sampler, by the engine and by llama.cpp.

python benchmarks/drawing.py                        # three minutes; writes results/drawing.md and its data
python benchmarks/drawing.py --rounds 1 --new 16    # fewer tokens; writes nothing
"""

import argparse
import importlib.util
import sys
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
import torch
from common import RESULTS, ROOT, machine, save

sys.path.append(str(ROOT))
from llama import LlamaCpp, build

from course.kit import paths
from solutions.engine import Engine, sequence
from solutions.samplers import sample_next_token, temperature_probs
from solutions.steering import apply_repetition_penalty, min_p_probs

PROMPT = "Write a story about a lighthouse keeper who finds a letter in a bottle, and what she does with it in the end."
ROUNDS, NEW, ROWS = 7, 128, (1, 8)
LAST = 512
"""The tokens that llama.cpp's penalty looks back: more than any of the texts has."""
SETTINGS: dict[str, dict[str, Any]] = {
    "greedy": {},
    "temperature 0.8": {"temperature": 0.8},
    "temperature 0.8, top-p 0.95": {"temperature": 0.8, "top_p": 0.95},
    "temperature 0.8, top-k 40, top-p 0.95, min-p 0.05": {"temperature": 0.8, "top_k": 40, "top_p": 0.95, "min_p": 0.05},
    "greedy, repetition penalty 1.1": {"repetition_penalty": 1.1},
}
MEASURED = f"""\
Tokens a second of all rows together, prompt included: one prompt of 25 tokens, {NEW} new ones, whatever is said (no EOS). Medians of
{ROUNDS} rounds, in which all rows of the table took turns. *By the days' functions*: the same engine, each token drawn by what Days 5 and 6
write, in torch's threads. llama.cpp draws by its own chain, in its default order: penalties, top-k, top-p, min-p, temperature."""


class ByTheDays(sequence.Request):
    """A request whose tokens are drawn by the days' own functions."""

    def next_token(self, logits: torch.Tensor) -> int:
        if self.repetition_penalty != 1:
            logits = apply_repetition_penalty(logits, torch.tensor([self.tokens]), self.repetition_penalty)
        temperature = self.temperature
        if self.min_p is not None and temperature > 0:
            logits, temperature = min_p_probs(temperature_probs(logits, temperature).log(), self.min_p).log(), 1.0
        return int(sample_next_token(logits, temperature=temperature, top_k=self.top_k, top_p=self.top_p, generator=self.generator))


def ours(engine: Engine, rows: int, new: int, settings: dict[str, Any]) -> float:
    begin = time.perf_counter()
    answers = engine.generate([PROMPT] * rows, max_new_tokens=new, eos_token_id=None, seed=list(range(rows)), **settings)
    return sum(len(answer.ids) for answer in answers) / (time.perf_counter() - begin)


def by_the_days(engine: Engine, rows: int, new: int, settings: dict[str, Any]) -> float:
    kept = sequence.Request.next_token
    sequence.Request.next_token = ByTheDays.next_token  # type: ignore[method-assign, assignment]
    try:
        return ours(engine, rows, new, settings)
    finally:
        sequence.Request.next_token = kept  # type: ignore[method-assign]


class Drawing(LlamaCpp):
    """llama.cpp with a chain of samplers for each row."""

    def speed(self, ids: list[int], rows: int, new: int, settings: dict[str, Any]) -> float:
        api = self.api
        chains = [self._chain(settings, seed) for seed in range(rows)]
        begin = time.perf_counter()
        api.llama_memory_clear(api.llama_get_memory(self.context), True)
        t = len(ids)
        tokens, places, of_row = np.tile(ids, rows), np.tile(np.arange(t), rows), np.repeat(np.arange(rows), t)
        for step in range(new):
            last = np.append(of_row[1:] != of_row[:-1], True)
            self._fill(tokens, places, of_row, last)
            if api.llama_decode(self.context, self.slots) != 0:
                raise RuntimeError("llama.cpp could not decode the batch")
            drawn = [api.llama_sampler_sample(chain, self.context, int(i)) for chain, i in zip(chains, np.flatnonzero(last), strict=True)]
            tokens, places, of_row = np.array(drawn), np.full(rows, t + step), np.arange(rows)
        took = time.perf_counter() - begin
        for chain in chains:
            api.llama_sampler_free(chain)
        return rows * new / took

    def _chain(self, settings: dict[str, Any], seed: int) -> Any:
        api = self.api
        chain = api.llama_sampler_chain_init(api.llama_sampler_chain_default_params())
        parts = []
        if "repetition_penalty" in settings:
            parts.append(api.llama_sampler_init_penalties(self.vocab_size, LAST, settings["repetition_penalty"], 0.0, 0.0))
        if "top_k" in settings:
            parts.append(api.llama_sampler_init_top_k(settings["top_k"]))
        if "top_p" in settings:
            parts.append(api.llama_sampler_init_top_p(settings["top_p"], 1))
        if "min_p" in settings:
            parts.append(api.llama_sampler_init_min_p(settings["min_p"], 1))
        if "temperature" in settings:
            parts += [api.llama_sampler_init_temp(settings["temperature"]), api.llama_sampler_init_dist(seed)]
        else:
            parts.append(api.llama_sampler_init_greedy())
        for part in parts:
            api.llama_sampler_chain_add(chain, part)
        return chain


def measured(rounds: int, new: int) -> list[dict[str, Any]]:
    engine = Engine(rows=max(ROWS))
    ids = engine.tokenizer.encode(PROMPT)
    ways: dict[str, Callable[[int, dict[str, Any]], float]] = {
        "ours": lambda rows, settings: ours(engine, rows, new, settings),
        "days": lambda rows, settings: by_the_days(engine, rows, new, settings),
    }
    if importlib.util.find_spec("llama_cpp"):
        llamas = {rows: Drawing(paths.SMOLLM2, rows, len(ids) + new, engine.threads) for rows in ROWS}
        ways["llama"] = lambda rows, settings: llamas[rows].speed(ids, rows, new, settings)
    found: dict[tuple[int, str, str], list[float]] = {}
    for number in range(rounds + 1):
        for rows in ROWS:
            for name, settings in SETTINGS.items():
                for way, speed in ways.items():
                    rate = speed(rows, settings)
                    if number:  # the first round is for caches and clocks
                        found.setdefault((rows, name, way), []).append(rate)
    return [{"rows": rows, "settings": name, **{way: median(found[rows, name, way]) for way in ways}} for rows in ROWS for name in SETTINGS]


def page(rows: list[dict[str, Any]], about: str) -> str:
    def cell(row: dict[str, Any], way: str) -> str:
        return f"{row[way]:.0f}" if way in row else "not installed"

    def ratio(row: dict[str, Any]) -> str:
        return f"{row['ours'] / row['llama']:.2f}" if "llama" in row else ""

    lines = [
        "# The cost of drawing a token",
        "",
        "| rows | settings | engine | engine, drawn by the days' functions | llama.cpp | engine against llama.cpp |",
        "|---:|---|---:|---:|---:|---:|",
        *(f"| {r['rows']} | {r['settings']} | {cell(r, 'ours')} | {cell(r, 'days')} | {cell(r, 'llama')} | {ratio(r)} |" for r in rows),
        "",
        MEASURED,
        "",
        about,
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--new", type=int, default=NEW)
    arguments = parser.parse_args()
    rows = measured(arguments.rounds, arguments.new)
    theirs = f" {build()}." if importlib.util.find_spec("llama_cpp") else ""
    about = f"Machine: {machine()}; {torch.get_num_threads()} threads each.{theirs}"
    text = page(rows, about)
    print(text)
    if (arguments.rounds, arguments.new) == (ROUNDS, NEW):
        save("drawing", {"machine": about, "rounds": ROUNDS, "new": NEW, "rows": rows}, text)
        print(f"-> {RESULTS / 'drawing.md'}")


if __name__ == "__main__":
    main()
