"""Batched decode: many sequences for one read of the weights, on the CPU and on a GPU with the same code."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from course.kit import WeightsOnly
from solutions.attention import attention, merge_heads, rotary, split_heads  # noqa: F401 (for versions with a loop of their own)
from solutions.kv_cache import KVCache
from solutions.samplers import sample_next_token
from solutions.transformer import feed_forward, rms_norm, run_layers  # noqa: F401


def left_pad(prompts: list[list[int]], pad_id: int) -> tuple[Tensor, Tensor]:
    """Make one rectangle of prompts of unequal lengths: pad_id fills each row from the left, so that all rows end together.

    -> ids (B, T) int64 with T the longest length, num_pad (B,) int64: how many pads were added to each row, which may hold pad_id
    itself. Raises ValueError for an empty list and for an empty prompt.
    """
    ### BEGIN SOLUTION
    if not prompts:
        raise ValueError("the list of prompts is empty: a batch needs at least one")
    if not all(prompts):
        raise ValueError(f"prompt {prompts.index([])} is empty: the first token has to come from somewhere")
    T = max(len(prompt) for prompt in prompts)
    num_pad = [T - len(prompt) for prompt in prompts]
    rows = [[pad_id] * pads + list(prompt) for pads, prompt in zip(num_pad, prompts, strict=True)]
    return torch.tensor(rows), torch.tensor(num_pad)
    ### END SOLUTION


def positions_and_mask(num_pad: Tensor, start: int, q_len: int) -> tuple[Tensor, Tensor]:
    """Return the position of each query in its own row, and which keys it may see, for the slots start to start + q_len - 1.

    num_pad (B,) int64 -> positions (B, q_len) int64, mask (B, 1, q_len, start+q_len) bool, on num_pad's device.
    Positions count from each row's first real token; pads get 0. A real query sees the real keys up to itself; a pad
    sees itself only, so that no row of a softmax is empty.
    """
    ### BEGIN SOLUTION
    slots = torch.arange(start + q_len, device=num_pad.device)
    queries, keys = slots[start:, None], slots[None, :]  # (q_len, 1), (1, start+q_len)
    pads = num_pad[:, None, None]  # (B, 1, 1)
    positions = (slots[start:] - num_pad[:, None]).clamp(min=0)
    real = (keys >= pads) & (keys <= queries)  # (B, q_len, start+q_len)
    return positions, (real | (keys == queries)).unsqueeze(1)
    ### END SOLUTION


def prefill_batch(model: WeightsOnly, ids: Tensor, num_pad: Tensor, cache: KVCache) -> Tensor:
    """Put left-padded prompts (or their next chunk) into the cache; return the logits of the token that follows each row.

    ids (B, t) int64, num_pad (B,) -> (B, V) of the model's dtype: each row as if it were alone, and so are its keys in the
    cache, turned by the row's own positions. The rows end together, so the last column belongs to every row's last token;
    only there is the head computed. Every column takes a slot, one of pads alone too. New tensors are on the device of ids.
    Raises CacheFull if there is no room.
    """
    ### BEGIN SOLUTION
    positions, mask = positions_and_mask(num_pad, cache.length, ids.shape[1])

    def attend(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        k_all, v_all = cache.append(layer, k, v)
        return attention(q, k_all, v_all, mask)

    return run_layers(model, ids, positions, attend)[:, -1] @ model.weights.lm_head.T  # (B, V)
    ### END SOLUTION


def decode_batch(model: WeightsOnly, ids: Tensor, num_pad: Tensor, cache: KVCache) -> Tensor:
    """Feed the newest token of every row; return the logits of the token after it.

    ids (B, 1) int64, num_pad (B,) -> (B, V) of the model's dtype: each row as if it were alone. New tensors are on the
    device of ids. Raises CacheFull if there is no room.
    """
    ### BEGIN SOLUTION
    return prefill_batch(model, ids, num_pad, cache)  # a chunk of one token: the cache knows where it stands
    ### END SOLUTION


def generate_batch(
    model: WeightsOnly,
    prompts: list[list[int]],
    *,
    max_new_tokens: int,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    eos_token_id: int | None = None,
    pad_id: int = 0,
    generator: torch.Generator | None = None,
    device: str | torch.device | None = None,
    dtype: torch.dtype | None = None,
) -> list[list[int]]:
    """Return the new tokens of each prompt, at most max_new_tokens, up to and including its first eos_token_id.

    Prompts may have unequal lengths and any order; each row gets what it would get alone. The loop ends as soon as
    every row has ended; what a row is fed after its end makes no difference. device, dtype: where and in what precision to
    compute; None is the model's own. No gradient is recorded, and the caller's gradient mode is left as it was. At most one
    transfer a step waits for the device, and one at the end. Nothing is cut: a text may grow past the positions that the model was
    trained on. Randomness as in `sample_next_token`: all from the generator, or from torch's global state if there is none.
    Raises ValueError as `left_pad` does.
    """
    ### BEGIN SOLUTION
    model = model.to(device=device, dtype=dtype)
    ids, num_pad = (tensor.to(model.device) for tensor in left_pad(prompts, pad_id))
    cache = KVCache(model.config, len(ids), ids.shape[1] + max_new_tokens, model.dtype, model.device)
    ended = torch.zeros(len(ids), 1, dtype=torch.bool, device=model.device)
    tokens: list[Tensor] = []
    with torch.no_grad():
        for _ in range(max_new_tokens):
            logits = decode_batch(model, tokens[-1], num_pad, cache) if tokens else prefill_batch(model, ids, num_pad, cache)
            token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
            if eos_token_id is not None:
                token = token.masked_fill(ended, eos_token_id)
                ended = ended | (token == eos_token_id)
            tokens.append(token)
            if eos_token_id is not None and ended.all():  # the one question a step that waits for the device
                break
    rows = torch.cat(tokens, dim=1).tolist() if tokens else [[] for _ in prompts]
    return [row[: row.index(eos_token_id) + 1] if eos_token_id in row else row for row in rows]
    ### END SOLUTION


def static_decode(
    model: WeightsOnly, ids: Tensor, num_pad: Tensor, position: Tensor, keys: Tensor, values: Tensor
) -> Tensor:
    """Run `decode_batch` with every shape and address fixed: the form that a GPU can record once and replay.

    ids (B, 1) int64, num_pad (B,), position () int64: the slot of the new token, after all pads, in a tensor, so that no step asks
    the device for it. keys, values (L, B, K, max_len, Dh), contiguous or not: slots before `position` are filled; the new keys and
    values are written into slot `position` in place, and nothing else is changed. All max_len slots are read, the pads and those after
    `position` masked, so what they hold does not matter as long as it is finite -> logits (B, V) of the model's dtype. New
    tensors are on the device of keys and values.
    """
    ### BEGIN SOLUTION
    slots = torch.arange(keys.shape[3], device=ids.device)
    mask = ((slots >= num_pad[:, None]) & (slots <= position))[:, None, None]  # (B, 1, 1, max_len)
    positions = (position - num_pad).unsqueeze(1)  # (B, 1)
    slot = position.unsqueeze(0)

    def attend(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        keys[layer].index_copy_(2, slot, k)
        values[layer].index_copy_(2, slot, v)
        return attention(q, keys[layer], values[layer], mask)

    return run_layers(model, ids, positions, attend)[:, -1] @ model.weights.lm_head.T  # (B, V)
    ### END SOLUTION


def capture_decode(
    model: WeightsOnly, num_pad: Tensor, start: int, keys: Tensor, values: Tensor
) -> Callable[[Tensor], Tensor]:
    """Return a step that decodes token after token from slot `start` on: step(ids (B, 1)) -> logits (B, V).

    On CUDA (keys, values on the current GPU) `static_decode` is recorded once as a graph and each step replays it: one launch in
    place of hundreds. The step keeps alive what the recording reads and writes. On any other device the step calls `static_decode`.
    keys, values as there. The logits of a step stay as they are when the next one runs. Raises ValueError at the step that finds no slot
    left, not before.
    """
    ### BEGIN SOLUTION
    max_len = keys.shape[3]
    ids_in = torch.zeros(len(num_pad), 1, dtype=torch.int64, device=keys.device)
    position = torch.tensor(start, device=keys.device)
    taken = start

    def run() -> Tensor:
        with torch.no_grad():
            logits = static_decode(model, ids_in, num_pad, position, keys, values)
            position.add_(1)
        return logits

    graph: torch.cuda.CUDAGraph | None = None
    if keys.is_cuda and start < max_len:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):  # libraries allocate at their first calls, which a recording must not see
            run()
        torch.cuda.current_stream().wait_stream(side)
        position.fill_(start)  # that step was run: the slot it wrote is written again by the first real one
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):  # runs nothing
            out = run()

    def step(ids: Tensor) -> Tensor:
        nonlocal taken
        if taken == max_len:
            raise ValueError(f"all max_len = {max_len} slots are taken: allocate more before the first step")
        taken += 1
        ids_in.copy_(ids)
        if graph is None:
            return run()  # `step` holds `run`, and so all that the graph reads: a graph knows addresses and keeps no tensor alive
        graph.replay()
        return out.clone()  # the next replay writes over it

    return step
    ### END SOLUTION
