"""The quantized engine against llama.cpp on the same file: tokens a second, and how far each is from float32.

python benchmarks/quantized.py                      # all points, some 20 minutes; writes results/quantized.md and its data
python benchmarks/quantized.py --prompt 64 --batch 1 4     # some points; the others keep their rows
python benchmarks/quantized.py --quick              # one point, nothing written
"""

import argparse
import importlib.metadata
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
from common import RESULTS, ROOT, machine, save
from torch import Tensor

sys.path.append(str(ROOT))
from llama import LlamaCpp

from course.kit import load_model, paths
from solutions.engine.quantized import NAMES, QuantizedEngine, QuantizedModel, best_instruction_set

BATCHES = [1, 4, 8, 16, 32]
PROMPTS = [64, 512, 2048]
LEAST = {1: 1.5, 4: 2.5}
"""The goals of decode over llama.cpp, by rows; 1 at every other number of rows, and for prefill."""
TEXTS = ("course/day01_softmax/lesson.md", "solutions/samplers.py", "datasets/tiny/samples.txt", "datasets/multilingual.jsonl")
COUNTED = """\
Both read the same GGUF file (Q4_1 weights, Q8_0 embedding), get the same random prompts of one length and the same number of threads,
and run in one process, one directly after the other, in rounds whose order turns round; the first round is not counted. Prefill is the
time from the call to the first token's logits, decode from there to the last token's, greedy. Wall time; a ratio is taken within a
round, and the table has medians of the rounds. "ahead" is ours over llama.cpp's."""


def ours(engine: QuantizedEngine) -> Callable[[Tensor, int], tuple[float, float]]:
    def run(ids: Tensor, new: int) -> tuple[float, float]:
        start = time.perf_counter()
        token = engine.prefill(ids).numpy().argmax(-1, keepdims=True)
        first = time.perf_counter()
        for _ in range(new - 1):
            token = engine.decode(torch.from_numpy(token)).numpy().argmax(-1, keepdims=True)
        return first - start, time.perf_counter() - first

    return run


def point(model: QuantizedModel, T: int, B: int, new: int, rounds: int, threads: int) -> dict[str, Any]:
    ids = torch.randint(5, model.vocab_size, (B, T), generator=torch.Generator().manual_seed(T + B))
    engine, llama = QuantizedEngine(model=model, batch=B, max_len=T + new, threads=threads), LlamaCpp(paths.SMOLLM2, B, T + new, threads)
    contenders = {"ours": ours(engine), "llama.cpp": lambda ids, new: llama.run(ids, new)[1:]}
    runs: dict[str, list[tuple[float, float]]] = {name: [] for name in contenders}
    for number in range(rounds + 1):
        for name in list(contenders) if number % 2 else list(contenders)[::-1]:
            took = contenders[name](ids, new)
            if number:
                runs[name].append(took)
    llama.close()
    engine.close()
    row: dict[str, Any] = {"prompt": T, "batch": B}
    for which, (part, tokens) in enumerate((("prefill", B * T), ("decode", B * (new - 1)))):
        for name, found in runs.items():
            row[f"{part}_{'ours' if name == 'ours' else 'llama'}"] = tokens / statistics.median(run[which] for run in found)
        row[f"{part}_ahead"] = statistics.median(b[which] / a[which] for a, b in zip(runs["ours"], runs["llama.cpp"], strict=True))
    row["load"] = os.getloadavg()[0]
    return row


def quality(model: QuantizedModel, length: int, threads: int) -> list[dict[str, Any]]:
    """Measure how far the logits are from float32's, by text and contender.

    The measures are the KL divergence in nats and how often the most probable token differs.
    """
    real = load_model("smollm2")
    rows = []
    for text in TEXTS:
        ids = torch.tensor([real.tokenizer.encode((ROOT / text).read_text(encoding="utf-8"))[:length]])
        with torch.inference_mode():
            expected = real(ids)[0].log_softmax(-1)
        llama = LlamaCpp(paths.SMOLLM2, 1, length, threads)
        engine = QuantizedEngine(model=model, batch=1, max_len=length, threads=threads)
        for name, logits in (("ours", engine.logits(ids)), ("llama.cpp", torch.from_numpy(llama.logits(ids)))):
            got = logits.log_softmax(-1)
            kl = (expected.exp() * (expected - got)).sum(-1)
            loss, loss_float32 = (-each[:-1].gather(1, ids[0, 1:, None]).mean().item() for each in (got, expected))
            other = (got.argmax(-1) != expected.argmax(-1)).double().mean().item()
            row = {"text": text, "engine": name, "kl": kl.mean().item(), "largest": kl.max().item(), "other": other}
            rows.append({**row, "loss": loss, "loss_float32": loss_float32})
        llama.close()
        engine.close()
    return rows


def verdict(rows: list[dict[str, Any]], kl: list[dict[str, Any]]) -> list[str]:
    lines = []
    for part in ("prefill", "decode"):
        ratios = [row[f"{part}_ahead"] for row in rows]
        wanted = [LEAST.get(row["batch"], 1) if part == "decode" else 1 for row in rows]
        missed = [f"prompt {r['prompt']}, B = {r['batch']}: {a:.2f}" for r, a, w in zip(rows, ratios, wanted, strict=True) if a < w]
        where = f"Missed at {'; '.join(missed)}." if missed else "Reached at every point."
        lines.append(f"{part.capitalize()} over llama.cpp: {min(ratios):.2f} to {max(ratios):.2f} over {len(ratios)} points. {where}")
    mine, theirs = (statistics.mean(row["kl"] for row in kl if row["engine"] == name) for name in ("ours", "llama.cpp"))
    lines.append(f"KL to float32, mean of the texts: ours {mine:.7f}, llama.cpp {theirs:.5f} nats: {mine / theirs:.4f} times.")
    return lines


def page(result: dict[str, Any]) -> str:
    rows, kl = result["rows"], result["quality"]
    lines = [
        "# The quantized engine and llama.cpp, SmolLM2-135M from one file of 4 and 8 bits",
        "",
        "| prompt | B | prefill, tokens/s | llama.cpp | ahead | decode, tokens/s | llama.cpp | ahead | load |",
        "|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
        *(
            f"| {r['prompt']} | {r['batch']} | {r['prefill_ours']:.0f} | {r['prefill_llama']:.0f} | {r['prefill_ahead']:.2f} "
            f"| {r['decode_ours']:.0f} | {r['decode_llama']:.0f} | {r['decode_ahead']:.2f} | {r['load']:.1f} |"
            for r in rows
        ),
        "",
        '"load" is the load average of the last minute, at the end of the row; the contender that runs counts in it.',
        "",
        "| text | engine | KL to float32, nats | largest | likeliest token is another | loss | of float32 |",
        "|---|---|---:|---:|---:|---:|---:|",
        *(
            f"| {r['text']} | {r['engine']} | {r['kl']:.7f} | {r['largest']:.6f} | {r['other']:.1%} | {r['loss']:.4f} "
            f"| {r['loss_float32']:.4f} |"
            for r in kl
        ),
        "",
        *verdict(rows, kl),
        "",
        f"Machine: {result['machine']}; {result['threads']} threads; kernels for {result['isa']}; llama.cpp as in {result['llama']}.",
        "",
        COUNTED,
    ]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=COUNTED)
    parser.add_argument("--batch", type=int, nargs="+", default=BATCHES)
    parser.add_argument("--prompt", type=int, nargs="+", default=PROMPTS)
    parser.add_argument("--new", type=int, default=33, help="new tokens of a row")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--length", type=int, default=256, help="tokens of a text whose logits are compared")
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.batch, arguments.prompt, arguments.new, arguments.length = [1], [64], 9, 64
    isa, threads = best_instruction_set(), torch.get_num_threads()
    model = QuantizedModel(paths.SMOLLM2, len(isa))
    path = RESULTS / "data" / "quantized.json"
    rows = json.loads(path.read_text())["rows"] if path.exists() and not arguments.quick else []
    result = {"threads": threads, "isa": NAMES[isa], "llama": f"llama-cpp-python {importlib.metadata.version('llama-cpp-python')}"}
    result["quality"] = quality(model, arguments.length, threads)
    for T in arguments.prompt:
        for B in arguments.batch:
            rounds = arguments.rounds if B * T <= 8192 else 1  # llama.cpp reads 65,536 tokens in some minutes
            row = point(model, T, B, arguments.new, rounds, threads)
            rows = sorted([r for r in rows if (r["prompt"], r["batch"]) != (T, B)] + [row], key=lambda r: (r["prompt"], r["batch"]))
            print({k: round(v, 2) for k, v in row.items()}, flush=True)
            whole = {"machine": machine(), **result, "rows": rows}
            if not arguments.quick:
                save("quantized", whole, page(whole))
    print(*verdict(rows, result["quality"]), sep="\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
