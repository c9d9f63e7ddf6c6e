"""The tokens that the quantized engine changes: 200 texts, float32's greedy tokens, and how sure float32 was of each.

python benchmarks/margins.py                        # two minutes of one core; writes results/margins.md and its data
python benchmarks/margins.py --texts 20             # fewer texts, nothing written
"""

import argparse
import importlib.util
import sys
from collections.abc import Iterator
from typing import Any

import torch
from common import RESULTS, ROOT, processor, save
from torch import Tensor

sys.path.append(str(ROOT))
from llama import LlamaCpp

from course.kit import load_model, paths
from solutions.engine.packed import PackedModel
from solutions.engine.quantized import NAMES, QuantizedEngine, QuantizedModel, best_instruction_set
from solutions.engine.static import StaticEngine

TEXTS, NEW = 200, 24
LENGTHS = [8, 16, 32, 64]
SOURCES = ("course/day*/lesson.md", "solutions/*.py", "datasets/tiny/samples.txt", "datasets/multilingual.jsonl")
NOISES = 5
"""The margin, in standard deviations of the error, above which no token may differ."""
COUNTED = f"""\
A text is a piece of the course's own (lessons, answers, stories, sentences in several languages), cut at a random place:
{", ".join(map(str, LENGTHS))} tokens, each length equally often, and float32's own {NEW} greedy tokens after them. Every engine reads it
whole, and at each place, also within the piece, its likeliest next token is compared with float32's. The margin of a place is how far
float32's likeliest token is ahead of its second, in logits. The noise is the standard deviation, over all places, of the error of that
same difference."""


def pieces(count: int) -> Iterator[list[int]]:
    """Yield the texts' prompts in order of length."""
    tokenizer = load_model("smollm2").tokenizer
    files = [path for pattern in SOURCES for path in sorted(ROOT.glob(pattern))]
    every = [tokenizer.encode(path.read_text(encoding="utf-8")) for path in files]
    whole = [text for text in every if len(text) >= max(LENGTHS)]
    random = torch.Generator().manual_seed(0)
    for number in range(count):
        length = LENGTHS[number * len(LENGTHS) // count]
        text = whole[int(torch.randint(len(whole), (), generator=random))]
        start = int(torch.randint(len(text) - length + 1, (), generator=random))
        yield text[start : start + length]


def continued(count: int) -> Iterator[Tensor]:
    """Yield the texts (1, length + NEW): each prompt, followed by float32's greedy tokens."""
    model = PackedModel(load_model("smollm2").weights_only(), "linear")  # the same roundings wherever it runs
    by_length: dict[int, list[list[int]]] = {}
    for piece in pieces(count):
        by_length.setdefault(len(piece), []).append(piece)
    for length, rows in by_length.items():
        ids = torch.tensor(rows)
        engine = StaticEngine(model, len(rows), length + NEW)
        tokens = [engine.prefill(ids).argmax(-1, keepdim=True)]
        while len(tokens) < NEW:
            tokens.append(engine.decode(tokens[-1]).argmax(-1, keepdim=True))
        yield from torch.cat([ids, *tokens], dim=1).split(1)


def measured(texts: list[Tensor], model: QuantizedModel, threads: int) -> dict[str, dict[str, Tensor]]:
    """Measure each engine at every position: float32's margin between its two best tokens, the engine's error in it, other tokens."""
    real, longest = load_model("smollm2"), max(text.shape[1] for text in texts)
    quantized = QuantizedEngine(model=model, max_len=longest, threads=threads)
    engines: dict[str, Any] = {"ours": quantized.logits}
    if importlib.util.find_spec("llama_cpp"):
        llama = LlamaCpp(paths.SMOLLM2, 1, longest, threads)
        engines["llama.cpp"] = lambda ids: torch.from_numpy(llama.logits(ids))
    found: dict[str, list[Tensor]] = {name: [] for name in engines}
    for ids in texts:
        with torch.inference_mode():
            best, order = real(ids)[0].topk(2)
        margin = best[:, 0] - best[:, 1]
        for name, logits in engines.items():
            got = logits(ids)
            two = got.gather(1, order)
            other = (got.argmax(-1) != order[:, 0]).to(margin.dtype)
            found[name].append(torch.stack([margin, two[:, 0] - two[:, 1] - margin, other]))
    return {name: dict(zip(("margin", "error", "other"), torch.cat(each, dim=1), strict=True)) for name, each in found.items()}


def summary(name: str, at: dict[str, Tensor]) -> dict[str, Any]:
    noise = at["error"].double().std().item()
    other = at["other"] > 0
    sure = at["margin"] > NOISES * noise
    row: dict[str, Any] = {"engine": name, "places": len(other), "noise": noise, "others": int(other.sum())}
    row["largest"] = at["margin"][other].max().item() if other.any() else 0.0
    return row | {"sure": int(sure.sum()), "sure_others": int((sure & other).sum())}


def page(rows: list[dict[str, Any]], texts: int, here: str) -> str:
    lines = [
        f"# Tokens of the quantized engine, and of float32, over {texts} texts",
        "",
        f"| engine | places | noise | another token | largest margin of those | margin above {NOISES} noises | another token there |",
        "|---|---:|---:|---:|---:|---:|---:|",
        *(
            f"| {r['engine']} | {r['places']:,} | {r['noise']:.3f} | {r['others']} ({r['others'] / r['places']:.1%}) | {r['largest']:.3f} "
            f"| {r['sure']:,} | {r['sure_others']} |"
            for r in rows
        ),
        "",
        COUNTED,
        "",
        f"Machine: {here}.",
    ]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=COUNTED)
    parser.add_argument("--texts", type=int, default=TEXTS)
    arguments = parser.parse_args()
    isa, threads = best_instruction_set(), torch.get_num_threads()
    found = measured(list(continued(arguments.texts)), QuantizedModel(paths.SMOLLM2, len(isa)), threads)
    rows = [summary(name, at) for name, at in found.items()]
    here = f"{processor()}, kernels for {NAMES[isa]}"
    text = page(rows, arguments.texts, here)
    print(text)
    if arguments.texts == TEXTS:
        save("margins", {"machine": here, "texts": TEXTS, "rows": rows}, text)
        print(f"-> {RESULTS / 'margins.md'}")
    return int(rows[0]["sure_others"] > 0)


if __name__ == "__main__":
    raise SystemExit(main())
