"""Trains the course's `tiny` model: Llama architecture, about a million parameters, Shakespeare's plays.

    python datasets/tiny/train.py          # about half an hour on one CPU core; rewrites the files of this folder

Every 400 steps the folder holds a model that works. README.md says what the committed one was trained on.
"""

import argparse
import csv
import json
import math
import os
import time
from pathlib import Path

import torch
from plays import plays  # beside this file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from torch import Tensor
from torch.nn.functional import cross_entropy
from transformers import LlamaConfig, LlamaForCausalLM

FOLDER = Path(__file__).parent
SEED = 1616
VOCAB_SIZE = 1024
SPECIAL_TOKENS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]  # ids 0, 1, 2, as in SmolLM2
TOKENIZER_CONFIG = {
    "bos_token": "<|im_start|>",
    "eos_token": "<|im_end|>",
    "pad_token": "<|endoftext|>",
    "clean_up_tokenization_spaces": False,
    "model_max_length": 2048,
    "tokenizer_class": "PreTrainedTokenizerFast",
}
TOKENS_PER_STEP = 4096
PHASES = [(256, 3400), (1024, 400), (2048, 200)]  # (context length, steps): short first, then up to every position
WARMUP_STEPS, PEAK_LR, LAST_LR = 100, 3e-3, 1e-4
VALIDATION_EVERY = 25  # every 25th scene is held out
PROMPTS = ["ROMEO:\n", "HAMLET:\nTo be, or not to be", "KING HENRY:\nOnce more", "FIRST WITCH:\n"]


def train_tokenizer(scenes: list[str]) -> Tokenizer:
    """Byte-level BPE that never merges digits: 3 special tokens, 256 bytes, and the merges learned here."""
    tokenizer = Tokenizer(models.BPE())
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), byte_level])
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCAB_SIZE, special_tokens=SPECIAL_TOKENS, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(scenes, trainer)
    return tokenizer


def build_model() -> LlamaForCausalLM:
    """Llama with 4 query heads over 2 key/value heads, tied embeddings; random weights."""
    config = LlamaConfig(
        vocab_size=VOCAB_SIZE,
        hidden_size=128,
        intermediate_size=352,
        num_hidden_layers=5,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=32,
        max_position_embeddings=2048,
        rope_theta=10000.0,
        rms_norm_eps=1e-5,
        tie_word_embeddings=True,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=0,
    )
    return LlamaForCausalLM(config)


def loss_of(model: LlamaForCausalLM, windows: Tensor) -> Tensor:
    """windows (B, T + 1) token ids -> mean cross entropy in nats per token, a scalar."""
    with torch.autocast("cpu", torch.bfloat16):
        logits = model(input_ids=windows[:, :-1], use_cache=False).logits
    return cross_entropy(logits.float().flatten(0, 1), windows[:, 1:].flatten())


@torch.no_grad()
def validation_loss(model: LlamaForCausalLM, tokens: Tensor, context: int) -> float:
    windows = tokens[: len(tokens) // (context + 1) * (context + 1)].view(-1, context + 1)
    losses = [loss_of(model, batch) * len(batch) for batch in windows.split(TOKENS_PER_STEP // context)]
    return float(sum(losses) / len(windows))


def learning_rate(step: int, num_steps: int) -> float:
    """Linear warm-up, then a cosine down to LAST_LR."""
    if step < WARMUP_STEPS:
        return PEAK_LR * (step + 1) / WARMUP_STEPS
    share = (step - WARMUP_STEPS) / (num_steps - WARMUP_STEPS)
    return LAST_LR + (PEAK_LR - LAST_LR) * (1 + math.cos(math.pi * share)) / 2


def samples(model: LlamaForCausalLM, tokenizer: Tokenizer) -> str:
    """Each prompt continued by 120 tokens, greedily and drawn at temperature 0.8."""
    parts = []
    for prompt in PROMPTS:
        ids = torch.tensor([tokenizer.encode(prompt).ids])
        mask = torch.ones_like(ids)
        for title, options in (("greedy", {"do_sample": False}), ("tau 0.8", {"do_sample": True, "temperature": 0.8})):
            torch.manual_seed(SEED)
            out = model.generate(ids, attention_mask=mask, max_new_tokens=120, top_k=0, **options)
            parts.append(f"--- {title}\n{tokenizer.decode(out[0].tolist())}\n")
    return "\n".join(parts)


def plot(rows: list[dict[str, float]]) -> None:
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "tiny"
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    axes.plot([row["tokens"] / 1e6 for row in rows], [row["train_loss"] for row in rows], label="training", linewidth=1)
    held_out = [row for row in rows if row["val_loss"]]
    axes.plot([row["tokens"] / 1e6 for row in held_out], [row["val_loss"] for row in held_out], "o-", label="held out")
    axes.set(xlabel="tokens seen (millions)", ylabel="cross entropy (nats per token)", ylim=(2, None))
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(FOLDER / "loss.svg", metadata={"Date": None})
    plt.close(figure)


def save(model: LlamaForCausalLM, tokenizer: Tokenizer, rows: list[dict[str, float]]) -> None:
    model.save_pretrained(FOLDER)
    (FOLDER / "samples.txt").write_text(samples(model, tokenizer), encoding="utf-8")
    with open(FOLDER / "loss.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    plot(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    torch.set_num_threads(parser.parse_args().threads)
    torch.manual_seed(SEED)

    all_scenes = [scene for play in plays().values() for scene in play]
    training = [scene for index, scene in enumerate(all_scenes) if index % VALIDATION_EVERY]
    held_out = all_scenes[::VALIDATION_EVERY]
    tokenizer = train_tokenizer(training)
    tokenizer.save(str(FOLDER / "tokenizer.json"))
    (FOLDER / "tokenizer_config.json").write_text(json.dumps(TOKENIZER_CONFIG, indent=2) + "\n")

    def pack(scenes: list[str]) -> Tensor:
        """All scenes as one row of ids, each between <|im_start|> and <|im_end|>."""
        return torch.tensor([i for scene in scenes for i in [1, *tokenizer.encode(scene).ids, 2]])

    tokens, held_out_tokens = pack(training), pack(held_out)
    model = build_model()
    num_parameters = sum(parameter.numel() for parameter in model.parameters())
    print(f"{num_parameters:,} parameters, {len(tokens):,} training and {len(held_out_tokens):,} held-out tokens")

    optimizer = torch.optim.AdamW(model.parameters(), lr=PEAK_LR, betas=(0.9, 0.95), weight_decay=0.1, fused=True)
    num_steps = sum(steps for _, steps in PHASES)
    contexts = [context for context, steps in PHASES for _ in range(steps)]
    rows: list[dict[str, float]] = []
    recent: list[float] = []
    start = time.perf_counter()
    for step, context in enumerate(contexts):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step, num_steps)
        starts = torch.randint(len(tokens) - context, (TOKENS_PER_STEP // context, 1))
        loss = loss_of(model, tokens[starts + torch.arange(context + 1)])
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        recent.append(loss.item())
        done = step + 1
        if done % 50 == 0 or done == num_steps:
            val = validation_loss(model, held_out_tokens, context) if done % 200 == 0 or done == num_steps else ""
            row = {"step": done, "tokens": done * TOKENS_PER_STEP, "context": context}
            row |= {"train_loss": round(sum(recent) / len(recent), 4), "val_loss": val and round(val, 4)}
            rows.append(row | {"seconds": round(time.perf_counter() - start)})
            recent.clear()
            print(*(f"{key} {value}" for key, value in rows[-1].items()), flush=True)
        if done % 400 == 0 or done == num_steps:
            save(model, tokenizer, rows)
    for context in (256, 1024, 2048):
        print(f"held-out loss at context {context}: {validation_loss(model, held_out_tokens, context):.4f}")


if __name__ == "__main__":
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    main()
