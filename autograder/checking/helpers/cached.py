"""Helpers of the visible and the hidden checks of the KV cache.

The expected results need no right answer: the kit's own model runs over the whole text each time, and the expected contents
of a cache are put together from the appended tensors. Tokens are compared in float64, where no two logits tie.
"""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch import Tensor

from autograder.authoring import close, equal, that
from autograder.checking.checks.test_generation import SURE, filled
from autograder.checking.checks.test_transformer import kit_model, small_config, small_weights
from autograder.sandbox.measure.op_counter import counting
from course.kit import Config, Model, load_model

PROMPTS = (
    "ROMEO:\n",
    "O",
    "To be, or not to be, that is the question:\n",
    "HAMLET:\nWhat, has this thing appear'd again to-night?\n\nKING",
)
ROOMY = 256  # a block_size that nothing here reaches


@functools.cache
def whole(dtype: torch.dtype = torch.float64) -> Model:
    """Return the kit's own `tiny`, which reads the whole text in every call."""
    return load_model("tiny", dtype=dtype)


def tiny_ids(text: str) -> Tensor:
    return torch.tensor([whole().tokenizer.encode(text)])


def tiny_config() -> Config:
    return whole().config


def small(student: Any, rng: torch.Generator, dtype: torch.dtype = torch.float64, **changes: Any) -> tuple[Any, Model]:
    """Return (a small random model for the student, the same model as a callable of the kit)."""
    config = small_config(max_position_embeddings=512, **changes)
    weights = small_weights(rng, config).to(device="cpu", dtype=dtype)
    return student.WeightsOnly(config, weights, None), kit_model(config, weights)


def believing(student: Any, after: list[list[float]]) -> Any:
    """Return a model of two layers whose logits depend only on the last token: the logits after token t are after[t]."""
    vocab = len(after)
    config = small_config(vocab_size=vocab, hidden_size=vocab, rms_norm_eps=1e-9, tie_word_embeddings=False, max_position_embeddings=512)
    weights = small_weights(torch.Generator().manual_seed(0), config)
    for layer in weights.layers:
        layer.o_proj, layer.down_proj = torch.zeros_like(layer.o_proj), torch.zeros_like(layer.down_proj)
    weights.embed_tokens, weights.norm = torch.eye(vocab), torch.ones(vocab)
    weights.lm_head = torch.tensor(after).T / vocab**0.5
    return student.WeightsOnly(config, weights, None)


def sure_after(student: Any, following: list[int]) -> Any:
    """Return a model that, after token t, is sure of token following[t]."""
    return believing(student, [[SURE * (v == f) for v in range(len(following))] for f in following])


def generated(student: Any, model: Any, idx: Tensor, **options: Any) -> Tensor:
    """Return the new tokens (B, n) of `generate_cached`, after a check of their form and of the prompt."""
    got = student.generate_cached(model, idx, _unchanged=True, **options)
    that(isinstance(got, Tensor), "the result is not a tensor", got=type(got).__name__)
    that(got.dtype == torch.int64, "token ids are int64", got=str(got.dtype))
    T, limit = idx.shape[1], options["max_new_tokens"]
    too_long = got.dim() == 2 and got.shape[1] > T + limit
    that(
        got.dim() == 2 and len(got) == len(idx) and T <= got.shape[1] <= T + limit,
        "wrong shape",
        expected=f"({len(idx)}, T + n) with T = {T} and n at most {limit}",
        got=str(tuple(got.shape)),
        cause=None if too_long else "The result is the whole prompt followed by the new tokens.",
    )
    equal(got[:, :T], idx, what="the result does not begin with the prompt")
    return got[:, T:]


def unrolled(model: Model, idx: Tensor, steps: int, block_size: int, eos: int | None = None) -> Tensor:
    """Return the greedy tokens of the loop without a cache. After its first EOS a row gets only EOS. The last row's EOS ends the loop."""
    ids = idx
    for _ in range(steps):
        ids = torch.cat((ids, model(ids[:, -block_size:])[:, -1].argmax(dim=-1, keepdim=True)), dim=1)
    new = ids[:, idx.shape[1] :]
    return new if eos is None else ended(new, eos)


def ended(new: Tensor, eos: int) -> Tensor:
    """Return rows (B, n) with EOS after each row's first EOS, cut to the length of the longest row."""
    rows = [row[: row.index(eos) + 1] if eos in row else row for row in new.tolist()]
    return filled(rows, eos)


def written(function: Any) -> None:
    """Raise NotImplementedError if the function is a stub, before the stub of another exercise does."""
    try:
        function(None, None, None)
    except NotImplementedError:
        raise
    except Exception:
        return


class Twin:
    """The student's cache, with a copy of the expected contents. Every append is compared."""

    def __init__(self, student: Any, rng: torch.Generator, config: Config, batch: int, max_len: int, **options: Any) -> None:
        self.cache = student.KVCache(config, batch, max_len, **options)
        self.rng, self.config, self.batch = rng, config, batch
        self.dtype = options.get("dtype", torch.float32)
        self.reset()

    def reset(self) -> None:
        self.held: list[list[tuple[Tensor, Tensor]]] = [[] for _ in range(self.config.num_hidden_layers)]

    def draw(self, t: int) -> Tensor:
        """Return a random tensor (B, K, t, Dh), stored token by token in memory, like a result of split_heads."""
        shape = (self.batch, t, self.config.num_key_value_heads, self.config.head_dim)
        return torch.randn(shape, generator=self.rng, dtype=torch.float64).to(self.dtype).transpose(1, 2)

    def append(self, layer: int, t: int) -> None:
        k, v = self.draw(t), self.draw(t)
        got = self.cache.append(layer, k, v)
        self.held[layer].append((k, v))
        that(isinstance(got, list | tuple) and len(got) == 2, "append gives two tensors, all keys and all values", got=type(got).__name__)
        for name, mine, stored in zip(("keys", "values"), got, zip(*self.held[layer], strict=True), strict=True):
            equal(mine, torch.cat(stored, dim=2), what=f"wrong {name} after an append of {t} to layer {layer}")
            that(mine.dtype == self.dtype, "wrong dtype", expected=str(self.dtype), got=str(mine.dtype), cause="The cache keeps its dtype.")


def in_chunks(student: Any, model: Any, ids: Tensor, sizes: list[int], cache: Any) -> Tensor:
    """Feed the ids in chunks and return the logits of all positions. Check the cache's length after each chunk."""
    pieces, start = [], int(cache.length)
    for chunk in ids.split(sizes, dim=1):
        logits = student.forward_cached(model, chunk, cache, _unchanged=True)
        that(isinstance(logits, Tensor), "the result is not a tensor", got=type(logits).__name__)
        that(
            logits.dim() == 3 and logits.shape[:2] == chunk.shape,
            "wrong shape",
            expected=f"({len(chunk)}, {chunk.shape[1]}, V): logits of every new token",
            got=str(tuple(logits.shape)),
        )
        start += chunk.shape[1]
        equal(cache.length, start, what="wrong length of the cache after a chunk")
        pieces.append(logits)
    return torch.cat(pieces, dim=1)


def answers_of_two_texts(student: Any, rng: torch.Generator, call: Any, *, stored: int, t: int, every_logit: bool = False) -> None:
    """Compare the logits of two texts, each in its cache, after both calls. Both texts have the same last tokens, of which one is id 0.

    stored: tokens of each text that are in its cache already. t: tokens that `call` feeds. every_logit: it gives the logits of all t.
    """
    model, kit = small(student, rng, vocab_size=17)
    texts = torch.randint(17, (2, 2, stored + t), generator=rng)
    texts[0, 0, -1] = 0  # a token like any other, and no pad
    texts[1, :, -1] = texts[0, :, -1]
    calls = []
    for ids in texts:
        cache = student.KVCache(kit.config, 2, stored + t, dtype=torch.float64)
        if stored:
            student.forward_cached(model, ids[:, :stored], cache)
        calls.append([model, ids[:, stored:].clone(), cache])
    for number, (ids, got) in enumerate(zip(texts, call.again(*calls), strict=True), start=1):
        want = kit(ids)[:, stored:] if every_logit else kit(ids)[:, -1]
        close(got, want, atol=1e-3, what=f"two texts in turn, both answers compared after the second call: wrong logits of text {number}")


def fills_at_once(student: Any, cache: Any, new: Tensor) -> None:
    """Fail unless an append that fills a cache of one layer stores its tokens in the cache's own memory."""
    with student.counting() as work:
        k_all, v_all = cache.append(0, new, -new)
    room = new.shape[2]
    equal(cache.length, room, what=f"wrong length after an append of {room:,} tokens")
    equal(k_all, new, what=f"wrong keys after an append of {room:,} tokens")
    equal(v_all, -new, what=f"wrong values after an append of {room:,} tokens")
    that(
        work.written_bytes >= 2 * new.nbytes,
        "an append that fills a layer at once has not written its tokens into the cache",
        expected=f"{2 * new.nbytes:,} bytes written",
        got=f"{work.written_bytes:,}",
        cause="If the cache takes the caller's own tensors, a later change of them changes the cache.",
    )


@functools.cache
def least_flops(reference: Any, t0: int, g: int) -> int:
    """Return the reference's FLOPs for this many greedy tokens of `tiny`, with a window that contains them all."""
    model = whole(torch.float32).weights_only()
    with counting() as work:
        reference.generate_cached(model, torch.ones(1, t0, dtype=torch.int64), max_new_tokens=g, block_size=t0 + g, temperature=0.0)
    return work.flops
