# Versions of generate_cached, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_generate_plain
# RIGHT: step by step; most of the wrong versions are edits of it

def generate_cached(
    model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None
):
    room = min(block_size, idx.shape[1] + max_new_tokens)
    cache = KVCache(model.config, len(idx), room, model.weights.embed_tokens.dtype, idx.device)
    ended = torch.zeros(len(idx), 1, dtype=torch.bool, device=idx.device)
    with torch.no_grad():
        for step in range(max_new_tokens):
            if step == 0 or idx.shape[1] > block_size:
                cache.reset()
                logits = prefill(model, idx[:, -block_size:], cache)
            else:
                logits = decode_step(model, idx[:, -1:], cache)
            token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
            if eos_token_id is not None:
                token = token.masked_fill(ended, eos_token_id)
                ended = ended | (token == eos_token_id)
            idx = torch.cat((idx, token), dim=1)
            if ended.all():
                break
    return idx


# %% right_generate_own_draw
# RIGHT: draws with torch's own multinomial

def generate_cached(
    model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None
):
    room = min(block_size, idx.shape[1] + max_new_tokens)
    cache = KVCache(model.config, len(idx), room, model.weights.embed_tokens.dtype, idx.device)
    ended = torch.zeros(len(idx), 1, dtype=torch.bool, device=idx.device)
    with torch.no_grad():
        for step in range(max_new_tokens):
            if step == 0 or idx.shape[1] > block_size:
                cache.reset()
                logits = prefill(model, idx[:, -block_size:], cache)
            else:
                logits = decode_step(model, idx[:, -1:], cache)
            if temperature == 0:
                token = logits.argmax(dim=-1, keepdim=True)
            else:
                probs = (logits / temperature).softmax(dim=-1)
                if top_k is not None and top_k < probs.shape[-1]:
                    probs = probs * (probs >= probs.topk(top_k).values[:, -1:])
                    probs = probs / probs.sum(dim=-1, keepdim=True)
                if top_p is not None and top_p < 1:
                    ordered, where = probs.sort(dim=-1, descending=True)
                    ordered = ordered * (ordered.cumsum(dim=-1) - ordered < top_p)
                    probs = torch.zeros_like(probs).scatter(1, where, ordered)
                token = torch.multinomial(probs, 1, generator=generator)
            if eos_token_id is not None:
                token = token.masked_fill(ended, eos_token_id)
                ended = ended | (token == eos_token_id)
            idx = torch.cat((idx, token), dim=1)
            if ended.all():
                break
    return idx


# %% right_last_prompt_token_decoded
# RIGHT: prefill of all but the last token of the window, then one decode for it, so every step ends in a decode

def generate_cached(
    model: WeightsOnly,
    idx: Tensor,
    *,
    max_new_tokens: int,
    block_size: int,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    eos_token_id: int | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    """The tokens of `generate`, with each token passed through the model once: one prefill, then decode steps.

    model: an object with .config and .weights. idx (B, T) int64 -> (B, T+n), n <= max_new_tokens. Every rule of
    `generate` holds: a row that has emitted eos_token_id is filled with it, the loop ends as soon as every row has
    ended, no gradient is recorded and the caller's gradient mode is left as it was, idx is not changed. Past block_size
    tokens the window slides: what is left in it was computed while the token that falls out could be seen, so the cache is
    rebuilt from the window at each step.
    """
    room = min(block_size, idx.shape[1] + max_new_tokens)
    cache = KVCache(model.config, len(idx), room, model.weights.embed_tokens.dtype, idx.device)
    ended = torch.zeros(len(idx), 1, dtype=torch.bool, device=idx.device)
    with torch.no_grad():
        for step in range(max_new_tokens):
            if step == 0 or idx.shape[1] > block_size:
                cache.reset()
                before = idx[:, -block_size:][:, :-1]
                if before.shape[1]:
                    prefill(model, before, cache)
            logits = decode_step(model, idx[:, -1:], cache)
            token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
            if eos_token_id is not None:
                token = token.masked_fill(ended, eos_token_id)
                ended = ended | (token == eos_token_id)
            idx = torch.cat((idx, token), dim=1)
            if eos_token_id is not None and ended.all():  # without an EOS there is nothing to ask the device
                break
    return idx


# %% right_generate_feeds_what_is_missing
# RIGHT: feeds whatever the cache does not hold yet

@torch.inference_mode()
def generate_cached(
    model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None
):
    cache = KVCache(model.config, len(idx), block_size, model.weights.lm_head.dtype, idx.device)
    options = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "generator": generator}
    open_rows = torch.ones(len(idx), dtype=torch.bool, device=idx.device)
    for _ in range(max_new_tokens):
        if idx.shape[1] > block_size:
            cache.reset()
        missing = idx[:, -block_size:][:, cache.length :]
        new = sample_next_token(forward_cached(model, missing, cache)[:, -1], **options)[:, 0]
        if eos_token_id is not None:
            new = torch.where(open_rows, new, eos_token_id)
            open_rows = open_rows & (new != eos_token_id)
        idx = torch.cat([idx, new[:, None]], dim=1)
        if not open_rows.any():
            return idx
    return idx


# %% right_generate_fresh_cache_for_each_window
# RIGHT: a new cache for each window; the result is written into memory of its full length

def generate_cached(
    model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None
):
    B, T = idx.shape
    result = torch.empty(B, T + max_new_tokens, dtype=torch.int64, device=idx.device)
    result[:, :T] = idx
    done = [False] * B
    cache, logits, length = None, None, T
    dtype = model.weights.norm.dtype
    while length < T + max_new_tokens:
        with torch.no_grad():
            if length > block_size or cache is None:
                cache = KVCache(model.config, B, block_size, dtype=dtype, device=idx.device)
                logits = prefill(model, result[:, max(0, length - block_size) : length], cache)
            else:
                logits = decode_step(model, result[:, length - 1 : length], cache)
            tokens = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
        for row in range(B):
            token = eos_token_id if done[row] else int(tokens[row])
            result[row, length] = token
            done[row] = done[row] or (eos_token_id is not None and token == eos_token_id)
        length += 1
        if all(done):
            break
    return result[:, :length].clone()


# %% right_generate_prompt_but_one_first
# RIGHT: prefills all but the last token; then every step is a decode step

@torch.no_grad()
def generate_cached(
    model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None
):
    def window(ids):
        cache = KVCache(model.config, len(ids), ids.shape[1], model.weights.embed_tokens.dtype, ids.device)
        return prefill(model, ids, cache)

    T, ended = idx.shape[1], torch.zeros(len(idx), 1, dtype=torch.bool, device=idx.device)
    cache = KVCache(model.config, len(idx), max(block_size, 1), model.weights.embed_tokens.dtype, idx.device)
    if max_new_tokens > 0 and 1 < T <= block_size:
        prefill(model, idx[:, :-1], cache)
    for _ in range(max_new_tokens):
        logits = decode_step(model, idx[:, -1:], cache) if idx.shape[1] <= block_size else window(idx[:, -block_size:])
        token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
        if eos_token_id is not None:
            token[ended] = eos_token_id
            ended |= token == eos_token_id
        idx = torch.cat((idx, token), dim=1)
        if bool(ended.all()):
            break
    return idx


# %% right_generate_prompt_in_chunks
# RIGHT: prefills the prompt in chunks of 100

def generate_cached(
    model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None
):
    room = min(block_size, idx.shape[1] + max_new_tokens)
    cache = KVCache(model.config, len(idx), room, model.weights.embed_tokens.dtype, idx.device)
    ended = torch.zeros(len(idx), 1, dtype=torch.bool, device=idx.device)
    with torch.no_grad():
        for step in range(max_new_tokens):
            if step == 0 or idx.shape[1] > block_size:
                cache.reset()
                for chunk in idx[:, -block_size:].split(100, dim=1):
                    logits = prefill(model, chunk, cache)
            else:
                logits = decode_step(model, idx[:, -1:], cache)
            token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
            if eos_token_id is not None:
                token = token.masked_fill(ended, eos_token_id)
                ended = ended | (token == eos_token_id)
            idx = torch.cat((idx, token), dim=1)
            if ended.all():
                break
    return idx


# %% right_inference_mode_buffer
# RIGHT: inference mode, an output of full length filled in place, a new cache at each slide

def generate_cached(
    model: WeightsOnly,
    idx: Tensor,
    *,
    max_new_tokens: int,
    block_size: int,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    eos_token_id: int | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    """The tokens of `generate`, with each token passed through the model once: one prefill, then decode steps.

    model: an object with .config and .weights. idx (B, T) int64 -> (B, T+n), n <= max_new_tokens. Every rule of
    `generate` holds: a row that has emitted eos_token_id is filled with it, the loop ends as soon as every row has
    ended, no gradient is recorded and the caller's gradient mode is left as it was, idx is not changed. Past block_size
    tokens the window slides: what is left in it was computed while the token that falls out could be seen, so the cache is
    rebuilt from the window at each step.
    """
    B, T = idx.shape
    out = torch.cat((idx, idx.new_zeros(B, max_new_tokens)), dim=1)
    n, end = T, T + max_new_tokens
    done = [False] * B
    cache = None
    with torch.inference_mode():
        while n < end:
            window = out[:, max(0, n - block_size) : n]
            if cache is None or n > block_size:
                cache = KVCache(model.config, B, min(block_size, end), model.weights.embed_tokens.dtype, idx.device)
                logits = prefill(model, window, cache)
            else:
                logits = decode_step(model, out[:, n - 1 : n], cache)
            token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
            for row in range(B):
                out[row, n] = eos_token_id if done[row] else token[row, 0]
                done[row] = done[row] or (eos_token_id is not None and int(out[row, n]) == eos_token_id)
            n += 1
            if all(done):
                break
    return out[:, :n].clone()


# %% wrong_generate_cache_on_the_cpu
# WRONG: the cache is made on the CPU, wherever the ids are
def generate_cached(
    model: WeightsOnly,
    idx: Tensor,
    *,
    max_new_tokens: int,
    block_size: int,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    eos_token_id: int | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    room = min(block_size, idx.shape[1] + max_new_tokens)
    cache = KVCache(model.config, len(idx), room, model.weights.embed_tokens.dtype)
    ended = torch.zeros(len(idx), 1, dtype=torch.bool, device=idx.device)
    with torch.no_grad():
        for step in range(max_new_tokens):
            if step == 0 or idx.shape[1] > block_size:
                cache.reset()
                logits = prefill(model, idx[:, -block_size:], cache)
            else:
                logits = decode_step(model, idx[:, -1:], cache)
            token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
            if eos_token_id is not None:
                token = token.masked_fill(ended, eos_token_id)
                ended = ended | (token == eos_token_id)
            idx = torch.cat((idx, token), dim=1)
            if eos_token_id is not None and ended.all():  # without an EOS there is nothing to ask the device
                break
    return idx


# %% wrong_generate_cache_outlives_call
# WRONG: keys and values of the last call are kept in a module global and used again where the new prompt begins with the same ids, which is looked up in row 0 only
_LAST = {"model": None, "ids": None, "cache": None}


def generate_cached(
    model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None
):
    total = idx.shape[1] + max_new_tokens
    room = min(block_size, total)
    cache = KVCache(model.config, len(idx), room, model.weights.embed_tokens.dtype, idx.device)
    old, old_ids = _LAST["cache"], _LAST["ids"]
    known = 0
    if _LAST["model"] is model and old_ids.shape[0] == idx.shape[0] and total <= block_size:
        n = min(old_ids.shape[1], idx.shape[1] - 1)
        if n > 0 and torch.equal(old_ids[0, :n], idx[0, :n]):  # the conversation goes on
            known = n
            for layer in range(model.config.num_hidden_layers):
                cache.append(layer, old.keys[layer, :, :, :n], old.values[layer, :, :, :n])
    ended = torch.zeros(len(idx), 1, dtype=torch.bool, device=idx.device)
    with torch.no_grad():
        for step in range(max_new_tokens):
            if step == 0 and known:
                logits = prefill(model, idx[:, known:], cache)
            elif step == 0 or idx.shape[1] > block_size:
                cache.reset()
                logits = prefill(model, idx[:, -block_size:], cache)
            else:
                logits = decode_step(model, idx[:, -1:], cache)
            token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
            if eos_token_id is not None:
                token = token.masked_fill(ended, eos_token_id)
                ended = ended | (token == eos_token_id)
            idx = torch.cat((idx, token), dim=1)
            if ended.all():
                break
    if idx.shape[1] <= block_size:
        _LAST.update(model=model, ids=idx[:, : cache.length], cache=cache)
    return idx


# %% wrong_generate_cached_table_at_every_step
# WRONG: sines and cosines of the whole window are worked out in Python at every step
import math


def generate_cached(
    model: WeightsOnly,
    idx: Tensor,
    *,
    max_new_tokens: int,
    block_size: int,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    eos_token_id: int | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    room = min(block_size, idx.shape[1] + max_new_tokens)
    cache = KVCache(model.config, len(idx), room, model.weights.embed_tokens.dtype, idx.device)
    ended = torch.zeros(len(idx), 1, dtype=torch.bool, device=idx.device)
    with torch.no_grad():
        for step in range(max_new_tokens):
            angles = [place * model.config.rope_theta ** (-i / model.config.head_dim) for place in range(block_size) for i in range(0, 128, 2)]
            table = [(math.cos(angle), math.sin(angle)) for angle in angles]
            if step == 0 or idx.shape[1] > block_size:
                cache.reset()
                logits = prefill(model, idx[:, -block_size:], cache)
            else:
                logits = decode_step(model, idx[:, -1:], cache)
            token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
            if eos_token_id is not None:
                token = token.masked_fill(ended, eos_token_id)
                ended = ended | (token == eos_token_id)
            idx = torch.cat((idx, token), dim=1)
            if eos_token_id is not None and ended.all():  # without an EOS there is nothing to ask the device
                break
    return idx


# %% wrong_generate_ended_on_the_cpu
# WRONG: who has ended is kept on the CPU, wherever the ids are
def generate_cached(
    model: WeightsOnly,
    idx: Tensor,
    *,
    max_new_tokens: int,
    block_size: int,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    eos_token_id: int | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    room = min(block_size, idx.shape[1] + max_new_tokens)
    cache = KVCache(model.config, len(idx), room, model.weights.embed_tokens.dtype, idx.device)
    ended = torch.zeros(len(idx), 1, dtype=torch.bool)
    with torch.no_grad():
        for step in range(max_new_tokens):
            if step == 0 or idx.shape[1] > block_size:
                cache.reset()
                logits = prefill(model, idx[:, -block_size:], cache)
            else:
                logits = decode_step(model, idx[:, -1:], cache)
            token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
            if eos_token_id is not None:
                token = token.masked_fill(ended, eos_token_id)
                ended = ended | (token == eos_token_id)
            idx = torch.cat((idx, token), dim=1)
            if eos_token_id is not None and ended.all():  # without an EOS there is nothing to ask the device
                break
    return idx


# %% wrong_generate_eos_decoded
# WRONG: the step after the last EOS is worked out before anybody looks whether all rows have ended; at max_new_tokens it is not
def generate_cached(
    model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None
):
    if max_new_tokens == 0:
        return idx
    room = min(block_size, idx.shape[1] + max_new_tokens)
    cache = KVCache(model.config, len(idx), room, model.weights.embed_tokens.dtype, idx.device)
    ended = torch.zeros(len(idx), 1, dtype=torch.bool, device=idx.device)
    with torch.no_grad():
        logits = prefill(model, idx[:, -block_size:], cache)
        for left in reversed(range(max_new_tokens)):
            token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
            if eos_token_id is not None:
                token = token.masked_fill(ended, eos_token_id)
            idx = torch.cat((idx, token), dim=1)
            if left and idx.shape[1] <= block_size:
                logits = decode_step(model, token, cache)
            elif left:
                cache.reset()
                logits = prefill(model, idx[:, -block_size:], cache)
            if eos_token_id is not None:
                ended |= token == eos_token_id
                if ended.all():
                    break
    return idx


# %% wrong_generate_gradients_off_after_an_error
# WRONG: gradients stay off where the sampler raises
def generate_cached(
    model: WeightsOnly,
    idx: Tensor,
    *,
    max_new_tokens: int,
    block_size: int,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    eos_token_id: int | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    room = min(block_size, idx.shape[1] + max_new_tokens)
    cache = KVCache(model.config, len(idx), room, model.weights.embed_tokens.dtype, idx.device)
    ended = torch.zeros(len(idx), 1, dtype=torch.bool, device=idx.device)
    torch.set_grad_enabled(False)
    if True:
        for step in range(max_new_tokens):
            if step == 0 or idx.shape[1] > block_size:
                cache.reset()
                logits = prefill(model, idx[:, -block_size:], cache)
            else:
                logits = decode_step(model, idx[:, -1:], cache)
            token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
            if eos_token_id is not None:
                token = token.masked_fill(ended, eos_token_id)
                ended = ended | (token == eos_token_id)
            idx = torch.cat((idx, token), dim=1)
            if eos_token_id is not None and ended.all():  # without an EOS there is nothing to ask the device
                break
    torch.set_grad_enabled(True)
    return idx


# %% wrong_generate_gradients_off_for_good
# WRONG: switches gradients off for the whole program and leaves them off
def generate_cached(
    model: WeightsOnly,
    idx: Tensor,
    *,
    max_new_tokens: int,
    block_size: int,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    eos_token_id: int | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    room = min(block_size, idx.shape[1] + max_new_tokens)
    cache = KVCache(model.config, len(idx), room, model.weights.embed_tokens.dtype, idx.device)
    ended = torch.zeros(len(idx), 1, dtype=torch.bool, device=idx.device)
    torch.set_grad_enabled(False)
    if True:
        for step in range(max_new_tokens):
            if step == 0 or idx.shape[1] > block_size:
                cache.reset()
                logits = prefill(model, idx[:, -block_size:], cache)
            else:
                logits = decode_step(model, idx[:, -1:], cache)
            token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
            if eos_token_id is not None:
                token = token.masked_fill(ended, eos_token_id)
                ended = ended | (token == eos_token_id)
            idx = torch.cat((idx, token), dim=1)
            if eos_token_id is not None and ended.all():  # without an EOS there is nothing to ask the device
                break
    return idx


# %% wrong_generate_no_cache_but_as_many_flops
# WRONG: no cache: the whole text passes through the model at every step, in a thread, while the thread that is counted multiplies zeros
from concurrent.futures import ThreadPoolExecutor


def _whole(model, idx, steps, block_size, temperature, top_k, top_p, eos_token_id, generator):
    ended = torch.zeros(len(idx), 1, dtype=torch.bool)
    with torch.no_grad():
        for _ in range(steps):
            window = idx[:, -block_size:]
            cache = KVCache(model.config, len(idx), window.shape[1], model.weights.embed_tokens.dtype)
            logits = prefill(model, window, cache)
            token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
            if eos_token_id is not None:
                token = token.masked_fill(ended, eos_token_id)
                ended = ended | (token == eos_token_id)
            idx = torch.cat((idx, token), dim=1)
            if ended.all():
                break
    return idx


def generate_cached(model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None):
    given = (model, idx, max_new_tokens, block_size, temperature, top_k, top_p, eos_token_id, generator)
    with ThreadPoolExecutor(1) as pool:
        out = pool.submit(_whole, *given).result()
    rows = torch.zeros(len(idx) * (out.shape[1] - 1), dtype=torch.int64)
    x = model.weights.embed_tokens[rows]  # what the counter is to see, and as many FLOPs as a cache would leave
    torch.zeros(len(x), 1_100_000 // x.shape[1], dtype=x.dtype) @ torch.zeros(1_100_000 // x.shape[1], x.shape[1], dtype=x.dtype)
    return out


# %% wrong_generate_no_cache_in_a_thread
# WRONG: no cache: the whole text passes through the model at every step, in a thread whose work is not counted
from concurrent.futures import ThreadPoolExecutor


def _whole(model, idx, steps, block_size, temperature, top_k, top_p, eos_token_id, generator):
    ended = torch.zeros(len(idx), 1, dtype=torch.bool)
    with torch.no_grad():
        for _ in range(steps):
            window = idx[:, -block_size:]
            cache = KVCache(model.config, len(idx), window.shape[1], model.weights.embed_tokens.dtype)
            logits = prefill(model, window, cache)
            token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
            if eos_token_id is not None:
                token = token.masked_fill(ended, eos_token_id)
                ended = ended | (token == eos_token_id)
            idx = torch.cat((idx, token), dim=1)
            if ended.all():
                break
    return idx


def generate_cached(model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None):
    given = (model, idx, max_new_tokens, block_size, temperature, top_k, top_p, eos_token_id, generator)
    with ThreadPoolExecutor(1) as pool:
        out = pool.submit(_whole, *given).result()
    model.weights.embed_tokens[torch.zeros(len(idx) * (out.shape[1] - 1), dtype=torch.int64)]  # what the counter is to see
    return out


# %% wrong_generate_no_cache_not_counted
# WRONG: no cache: the whole text passes through the model at every step, with the counter switched off
from torch.utils._python_dispatch import _disable_current_modes


def _whole(model, idx, steps, block_size, temperature, top_k, top_p, eos_token_id, generator):
    ended = torch.zeros(len(idx), 1, dtype=torch.bool)
    with torch.no_grad():
        for _ in range(steps):
            window = idx[:, -block_size:]
            cache = KVCache(model.config, len(idx), window.shape[1], model.weights.embed_tokens.dtype)
            logits = prefill(model, window, cache)
            token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
            if eos_token_id is not None:
                token = token.masked_fill(ended, eos_token_id)
                ended = ended | (token == eos_token_id)
            idx = torch.cat((idx, token), dim=1)
            if ended.all():
                break
    return idx


def generate_cached(model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None):
    given = (model, idx, max_new_tokens, block_size, temperature, top_k, top_p, eos_token_id, generator)
    with _disable_current_modes():
        out = _whole(*given)
    model.weights.embed_tokens[torch.zeros(len(idx) * (out.shape[1] - 1), dtype=torch.int64)]  # what the counter is to see
    return out

# %% wrong_generate_cache_float32_at_least, of right_generate_plain
# WRONG: the cache is at least float32: right for float32 and float64, wrong for 16 bits
# -
# ...
# -     cache = KVCache(model.config, len(idx), room, model.weights.embed_tokens.dtype, idx.device)
# +     cache = KVCache(model.config, len(idx), room, torch.promote_types(model.weights.embed_tokens.dtype, torch.float32), idx.device)

# %% wrong_generate_default_temperature, of right_generate_plain
# WRONG: the default temperature is 1.01
# -
#   def generate_cached(
# -     model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None
# - ):
# +     model: WeightsOnly,
# +     idx: Tensor,
# +     *,
# +     max_new_tokens: int,
# +     block_size: int,
# +     temperature: float = 1.01,
# +     top_k: int | None = None,
# +     top_p: float | None = None,
# +     eos_token_id: int | None = None,
# +     generator: torch.Generator | None = None,
# + ) -> Tensor:
# ...
# -             if ended.all():
# +             if eos_token_id is not None and ended.all():  # without an EOS there is nothing to ask the device

# %% wrong_generate_default_top_k, of right_generate_plain
# WRONG: without top_k only the 50 best tokens are kept
# -
#   def generate_cached(
# -     model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None
# - ):
# +     model: WeightsOnly,
# +     idx: Tensor,
# +     *,
# +     max_new_tokens: int,
# +     block_size: int,
# +     temperature: float = 1.0,
# +     top_k: int | None = 50,
# +     top_p: float | None = None,
# +     eos_token_id: int | None = None,
# +     generator: torch.Generator | None = None,
# + ) -> Tensor:
# ...
# -             if ended.all():
# +             if eos_token_id is not None and ended.all():  # without an EOS there is nothing to ask the device

# %% wrong_generate_default_top_p, of right_generate_plain
# WRONG: without top_p a nucleus of 0.999 is kept
# -
#   def generate_cached(
# -     model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None
# - ):
# +     model: WeightsOnly,
# +     idx: Tensor,
# +     *,
# +     max_new_tokens: int,
# +     block_size: int,
# +     temperature: float = 1.0,
# +     top_k: int | None = None,
# +     top_p: float | None = 0.999,
# +     eos_token_id: int | None = None,
# +     generator: torch.Generator | None = None,
# + ) -> Tensor:
# ...
# -             if ended.all():
# +             if eos_token_id is not None and ended.all():  # without an EOS there is nothing to ask the device

# %% wrong_generate_eos_of_config, of right_generate_plain
# WRONG: without eos_token_id the model's own EOS ends the text
# -
# ...
#   ):
# +     if eos_token_id is None:
# +         eos_token_id = model.config.eos_token_id

# %% wrong_generate_greedy_in_float32, of right_generate_plain
# WRONG: for temperature 0 the highest of the logits rounded to float32 is taken: in float64 close ones tie
# -
# ...
#                   logits = decode_step(model, idx[:, -1:], cache)
# +             if temperature == 0:
# +                 logits = logits.float()

# %% wrong_generate_pool_of_caches, of right_generate_plain
# WRONG: caches are kept in a module global by config and size, and reset before use: a model of the same config in another dtype gets the wrong one, and the memory outlives the call
# + _POOL = {}
# +
# +
# + def _borrow(model, rows, room, device):
# +     key = (model.config, rows, room, device)
# +     if key not in _POOL:
# +         _POOL[key] = KVCache(model.config, rows, room, model.weights.embed_tokens.dtype, device)
# +     cache = _POOL[key]
# +     cache.reset()
# +     return cache
# +
#
# ...
# -     room = min(block_size, idx.shape[1] + max_new_tokens)
# -     cache = KVCache(model.config, len(idx), room, model.weights.embed_tokens.dtype, idx.device)
# +     cache = _borrow(model, len(idx), min(block_size, idx.shape[1] + max_new_tokens), idx.device)

# %% wrong_generate_rebuilds_when_a_row_ends, of right_generate_plain
# WRONG: whenever a row has ended the cache is rebuilt from the whole text: right tokens, but old ones pass through the model again
# -
# ...
#       ended = torch.zeros(len(idx), 1, dtype=torch.bool, device=idx.device)
# +     newly_ended = False
# ...
# -             if step == 0 or idx.shape[1] > block_size:
# +             if step == 0 or newly_ended or idx.shape[1] > block_size:  # begin anew whenever the set of rows changes
# ...
#                   token = token.masked_fill(ended, eos_token_id)
# +                 before = int(ended.sum())
#                   ended = ended | (token == eos_token_id)
# +                 newly_ended = int(ended.sum()) > before

# %% wrong_generate_emptied_at_its_end_only, of right_generate_plain
# WRONG: the cache outlives the call and is emptied after the last step, which an EOS or an exception leaves out: the next text begins after it
# +
# + KEPT = {}
# +
#
# ...
# -     cache = KVCache(model.config, len(idx), room, model.weights.embed_tokens.dtype, idx.device)
# +     key = (model.config, len(idx), room, model.weights.embed_tokens.dtype, str(idx.device))
# +     cache = KEPT.setdefault(key, KVCache(model.config, len(idx), room, model.weights.embed_tokens.dtype, idx.device))
# ...
# -                 cache.reset()
# +                 cache.reset() if step else None
# ...
# -                 break
# +                 return idx
# +     cache.reset()

# %% wrong_generate_stale_cache, of right_generate_plain
# WRONG: one cache for all runs, never emptied between them
# +
# + CACHES = {}
# +
#
# ...
# -     cache = KVCache(model.config, len(idx), room, model.weights.embed_tokens.dtype, idx.device)
# +     key = (model.config, len(idx), model.weights.embed_tokens.dtype)
# +     cache = CACHES.setdefault(key, KVCache(model.config, len(idx), 2048, model.weights.embed_tokens.dtype))
# ...
# -                 cache.reset()
# +                 cache.reset() if step else None

# %% wrong_generate_view, of right_generate_plain
# WRONG: wants idx row by row in memory
# -
#   def generate_cached(
# -     model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None
# - ):
# +     model: WeightsOnly,
# +     idx: Tensor,
# +     *,
# +     max_new_tokens: int,
# +     block_size: int,
# +     temperature: float = 1.0,
# +     top_k: int | None = None,
# +     top_p: float | None = None,
# +     eos_token_id: int | None = None,
# +     generator: torch.Generator | None = None,
# + ) -> Tensor:
# +     idx = idx.view(-1).view(idx.shape)
# ...
# -             if ended.all():
# +             if eos_token_id is not None and ended.all():  # without an EOS there is nothing to ask the device

# %% wrong_generate_copies_generator, of right_generate_plain
# WRONG: draws from a copy of the generator
#   ):
# +     if generator is not None:
# +         copy = torch.Generator()
# +         copy.set_state(generator.get_state())
# +         generator = copy

# %% wrong_generate_new_tokens_only, of right_generate_plain
# WRONG: gives back the new tokens only
#   ):
# +     T = idx.shape[1]
# ...
# -     return idx
# +     return idx[:, T:]

# %% wrong_generate_own_generator, of right_generate_plain
# WRONG: draws from a generator of its own
#   ):
# +     generator = torch.Generator().manual_seed(0)

# %% wrong_generate_one_too_many, of right_generate_plain
# WRONG: one token too many
# -     room = min(block_size, idx.shape[1] + max_new_tokens)
# +     room = min(block_size, idx.shape[1] + max_new_tokens + 1)
# ...
# -         for step in range(max_new_tokens):
# +         for step in range(max_new_tokens + 1):

# %% wrong_generate_room_for_prompt, of right_generate_plain
# WRONG: room for the prompt only
# -     room = min(block_size, idx.shape[1] + max_new_tokens)
# +     room = min(block_size, idx.shape[1])

# %% wrong_generate_float32_cache, of right_generate_plain
# WRONG: a float32 cache, whatever the model's dtype
# -     cache = KVCache(model.config, len(idx), room, model.weights.embed_tokens.dtype, idx.device)
# +     cache = KVCache(model.config, len(idx), room)

# %% wrong_generate_last_token_twice, of right_generate_plain
# WRONG: the prompt's last token is fed twice
# -     cache = KVCache(model.config, len(idx), room, model.weights.embed_tokens.dtype, idx.device)
# +     cache = KVCache(model.config, len(idx), room + 1, model.weights.embed_tokens.dtype, idx.device)
# ...
# -                 logits = prefill(model, idx[:, -block_size:], cache)
# +                 prefill(model, idx[:, -block_size:], cache)
# +                 logits = decode_step(model, idx[:, -1:], cache)

# %% wrong_generate_no_crop, of right_generate_plain
# WRONG: gives the whole prompt to the prefill, however long
# -     cache = KVCache(model.config, len(idx), room, model.weights.embed_tokens.dtype, idx.device)
# +     cache = KVCache(model.config, len(idx), room + idx.shape[1], model.weights.embed_tokens.dtype, idx.device)
# ...
# -                 logits = prefill(model, idx[:, -block_size:], cache)
# +                 logits = prefill(model, idx if step == 0 else idx[:, -block_size:], cache)

# %% wrong_generate_not_emptied_when_sliding, of right_generate_plain
# WRONG: the window slides and the cache is not emptied
# SAYS: The window slides and the cache keeps what was computed while the lost token could be seen. Empty it and fill it from the window.
# -     cache = KVCache(model.config, len(idx), room, model.weights.embed_tokens.dtype, idx.device)
# +     cache = KVCache(model.config, len(idx), room * (max_new_tokens + 1), model.weights.embed_tokens.dtype, idx.device)
# ...
# -                 cache.reset()

# %% wrong_generate_one_row, of right_generate_plain
# WRONG: a cache for one row
# -     cache = KVCache(model.config, len(idx), room, model.weights.embed_tokens.dtype, idx.device)
# +     cache = KVCache(model.config, 1, room, model.weights.embed_tokens.dtype, idx.device)

# %% wrong_generate_whole_prompt_on_top, of right_generate_plain
# WRONG: each step puts the whole text into the cache once more
# -     cache = KVCache(model.config, len(idx), room, model.weights.embed_tokens.dtype, idx.device)
# +     cache = KVCache(model.config, len(idx), room * (max_new_tokens + 1), model.weights.embed_tokens.dtype, idx.device)
# ...
# -                 logits = decode_step(model, idx[:, -1:], cache)
# +                 logits = prefill(model, idx, cache)

# %% wrong_generate_eos_in_prompt, of right_generate_plain
# WRONG: an EOS in the prompt ends a row
# -     ended = torch.zeros(len(idx), 1, dtype=torch.bool, device=idx.device)
# +     ended = (idx == (-1 if eos_token_id is None else eos_token_id)).any(dim=1, keepdim=True)

# %% wrong_generate_reseeds, of right_generate_plain
# WRONG: puts the generator back before each step
#       ended = torch.zeros(len(idx), 1, dtype=torch.bool, device=idx.device)
# +     start = generator.get_state() if generator is not None else None
# ...
#                   logits = decode_step(model, idx[:, -1:], cache)
# +             if start is not None:
# +                 generator.set_state(start)

# %% wrong_generate_gradients, of right_generate_plain
# WRONG: no torch.no_grad(): gradients are recorded
# -     with torch.no_grad():
# +     if True:

# %% wrong_generate_one_too_few, of right_generate_plain
# WRONG: one token too few: the prefill's token is not counted
# -         for step in range(max_new_tokens):
# +         for step in range(max_new_tokens - 1):

# %% wrong_generate_prefill_token_lost, of right_generate_plain
# WRONG: the token after the prefill is computed and thrown away
#           for step in range(max_new_tokens):
# +             if step == 0:
# +                 sample_next_token(prefill(model, idx[:, -block_size:], cache))

# %% wrong_generate_no_cache, of right_generate_plain
# WRONG: rebuilds the cache at each step: right tokens, and the work of the loop without one
# -             if step == 0 or idx.shape[1] > block_size:
# +             if True:

# %% wrong_generate_refuses_long, of right_generate_plain
# WRONG: a text longer than block_size runs into CacheFull
# -             if step == 0 or idx.shape[1] > block_size:
# +             if step == 0:

# %% wrong_generate_slides_by_shifting, of right_generate_plain
# WRONG: past block_size the oldest slot is shifted out and the rest is kept, positions and all
# -             if step == 0 or idx.shape[1] > block_size:
# +             if step == 0:
# ...
#               else:
# +                 if cache.length == room:
# +                     cache.keys = cache.keys.roll(-1, dims=3)
# +                     cache.values = cache.values.roll(-1, dims=3)
# +                     cache.counts = [room - 1] * len(cache.counts)

# %% wrong_generate_slides_too_early, of right_generate_plain
# WRONG: rebuilds the cache one token before the window is full
# -             if step == 0 or idx.shape[1] > block_size:
# +             if step == 0 or idx.shape[1] >= block_size:

# %% wrong_generate_first_never_cached, of right_generate_plain
# WRONG: the first token of the prompt is left out
# -                 logits = prefill(model, idx[:, -block_size:], cache)
# +                 logits = prefill(model, idx[:, -block_size:][:, min(1, idx.shape[1] - 1) :], cache)

# %% wrong_generate_first_of_window, of right_generate_plain
# WRONG: crops to the first block_size tokens
# -                 logits = prefill(model, idx[:, -block_size:], cache)
# +                 logits = prefill(model, idx[:, :block_size], cache)

# %% wrong_generate_prompt_never_stored, of right_generate_plain
# WRONG: the prompt goes into a cache of its own, the new tokens into an empty one
# -                 logits = prefill(model, idx[:, -block_size:], cache)
# +                 logits = prefill(model, idx[:, -block_size:], KVCache(model.config, len(idx), room, model.weights.embed_tokens.dtype))

# %% wrong_generate_slides_to_half, of right_generate_plain
# WRONG: past block_size only half of the window is kept
# -                 logits = prefill(model, idx[:, -block_size:], cache)
# +                 keep = block_size if step == 0 else max(block_size // 2, 1)
# +                 logits = prefill(model, idx[:, -keep:], cache)

# %% wrong_generate_first_token_fed, of right_generate_plain
# WRONG: each decode step is given the first token
# -                 logits = decode_step(model, idx[:, -1:], cache)
# +                 logits = decode_step(model, idx[:, :1], cache)

# %% wrong_generate_gradients_in_decode, of right_generate_plain
# WRONG: gradients are switched off for the prefill only
# -                 logits = decode_step(model, idx[:, -1:], cache)
# +                 with torch.enable_grad():
# +                     logits = decode_step(model, idx[:, -1:], cache)

# %% wrong_generate_token_before_last, of right_generate_plain
# WRONG: each decode step is given the token before the newest
# -                 logits = decode_step(model, idx[:, -1:], cache)
# +                 logits = decode_step(model, idx[:, -2:-1], cache)

# %% wrong_generate_whole_prompt_to_decode, of right_generate_plain
# WRONG: each decode step is given the whole text, into a cache that is emptied first
# SAYS: rebuilds the cache at each step: right tokens, and the work of the loop without one
# -                 logits = decode_step(model, idx[:, -1:], cache)
# +                 cache.reset()
# +                 logits = forward_cached(model, idx, cache)[:, -1]

# %% wrong_generate_always_greedy, of right_generate_plain
# WRONG: always the best token
# -             token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
# +             token = logits.argmax(dim=-1, keepdim=True)

# %% wrong_generate_ends_a_step_late, of right_generate_plain
# WRONG: looks whether all rows have ended before it appends
#               token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
# +             if ended.all():
# +                 token = token.masked_fill(ended, eos_token_id)
# +                 idx = torch.cat((idx, token), dim=1)
# +                 break
# ...
# -             if ended.all():
# -                 break

# %% wrong_generate_global_rng, of right_generate_plain
# WRONG: draws from torch's global state
# -             token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
# +             token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p)

# %% wrong_generate_greedy_prefill, of right_generate_plain
# WRONG: the first token is always the best
# -             token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
# +             token = sample_next_token(logits, temperature=temperature if step else 0.0, top_k=top_k, top_p=top_p, generator=generator)

# %% wrong_generate_ignores_temperature, of right_generate_plain
# WRONG: temperature is not passed on, but for 0
# -             token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
# +             token = sample_next_token(logits, temperature=1.0 if temperature else 0.0, top_k=top_k, top_p=top_p, generator=generator)

# %% wrong_generate_ignores_top_k, of right_generate_plain
# WRONG: top_k is not passed on
# -             token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
# +             token = sample_next_token(logits, temperature=temperature, top_p=top_p, generator=generator)

# %% wrong_generate_ignores_top_p, of right_generate_plain
# WRONG: top_p is not passed on
# -             token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
# +             token = sample_next_token(logits, temperature=temperature, top_k=top_k, generator=generator)

# %% wrong_generate_top_p_in_prefill_only, of right_generate_plain
# WRONG: top_p is used for the first token only
# -             token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
# +             token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p if step == 0 else None, generator=generator)

# %% wrong_generate_falsy_eos, of right_generate_plain
# WRONG: id 0 is taken for no EOS
# -             if eos_token_id is not None:
# +             if eos_token_id:

# %% wrong_generate_all_at_once, of right_generate_plain
# WRONG: waits for a step at which all rows emit EOS
# -                 token = token.masked_fill(ended, eos_token_id)
# -                 ended = ended | (token == eos_token_id)
# +                 pass
#               idx = torch.cat((idx, token), dim=1)
# -             if ended.all():
# +             if eos_token_id is not None and (token == eos_token_id).all():

# %% wrong_generate_not_filled, of right_generate_plain
# WRONG: rows that have ended go on
# -                 token = token.masked_fill(ended, eos_token_id)

# %% wrong_generate_in_place, of right_generate_plain
# WRONG: writes into the caller's ids
#                   ended = ended | (token == eos_token_id)
# +             idx[:, 0] = idx[:, 0] if step else token[:, 0]

# %% wrong_generate_row_zero, of right_generate_plain
# WRONG: all rows get the first row's token
# -             idx = torch.cat((idx, token), dim=1)
# +             idx = torch.cat((idx, token[:1].expand_as(token)), dim=1)

# %% wrong_generate_rest_of_the_pieces, of right_generate_prompt_in_chunks
# WRONG: of a window above 128 tokens only whole pieces of 128 are fed; the rest is never read
# SAYS: Of a long prompt you feed whole pieces only: the tokens after the last whole piece are never read.
# -                 for chunk in idx[:, -block_size:].split(100, dim=1):
# -                     logits = prefill(model, chunk, cache)
# +                 window = idx[:, -block_size:]
# +                 size = min(128, window.shape[1])
# +                 for first in range(0, window.shape[1] - size + 1, size):
# +                     logits = prefill(model, window[:, first : first + size], cache)

# %% wrong_generate_any_row_ends, of right_generate_plain
# WRONG: stops with the first row that ends
# -             if ended.all():
# +             if ended.any():

# %% wrong_generate_never_stops, of right_generate_plain
# WRONG: runs to max_new_tokens although all rows have ended
# -             if ended.all():
# -                 break

# %% wrong_generate_stops_at_block_size, of right_generate_plain
# WRONG: stops when the window is full
# -             if ended.all():
# +             if ended.all() or idx.shape[1] > block_size:

# %% wrong_generate_feeds_last_token, of right_generate_plain
# WRONG: feeds the last new token too, for nothing
#                   break
# +     if max_new_tokens and cache.length < room:
# +         decode_step(model, idx[:, -1:], cache)

# %% wrong_generate_crops_result, of right_generate_plain
# WRONG: gives back the window only
# -     return idx
# +     return idx[:, -block_size:]

# %% wrong_generate_cached_top_k_above_vocabulary, of right_generate_own_draw
# WRONG: a top_k above the number of tokens is an error
# -                 if top_k is not None and top_k < probs.shape[-1]:
# +                 if top_k is not None:

# %% wrong_generate_cached_top_p_of_all_after_top_k, of right_generate_own_draw
# WRONG: top_p counts the mass before top_k, not what top_k left
# -                     probs = probs / probs.sum(dim=-1, keepdim=True)

# %% wrong_generate_cached_top_p_border, of right_generate_own_draw
# WRONG: keeps one token more where the mass is exactly p
# -                     ordered = ordered * (ordered.cumsum(dim=-1) - ordered < top_p)
# +                     ordered = ordered * (ordered.cumsum(dim=-1) - ordered <= top_p)

# %% wrong_rebuilt_every_32, of right_last_prompt_token_decoded
# WRONG: the cache is rebuilt at every 32nd step, though nothing slides
# -             if step == 0 or idx.shape[1] > block_size:
# +             if step % 32 == 0 or idx.shape[1] > block_size:
#                   cache.reset()
# -                 before = idx[:, -block_size:][:, :-1]
# -                 if before.shape[1]:
# -                     prefill(model, before, cache)
# -             logits = decode_step(model, idx[:, -1:], cache)
# +                 logits = prefill(model, idx[:, -block_size:], cache)
# +             else:
# +                 logits = decode_step(model, idx[:, -1:], cache)

# %% wrong_generate_cached_one_memory_for_all, of right_generate_plain
# WRONG: answers of one shape come in one memory: the next one is written over the last
# -     return idx
# +     kept = globals().setdefault("_ids", {})
# +     return kept.setdefault((idx.shape, idx.device), idx.clone()).copy_(idx)

# %% wrong_generate_cached_kept_for_one_token, of right_generate_plain
# WRONG: a cache kept from call to call, which a call for one token does not empty
# -     cache = KVCache(model.config, len(idx), room, model.weights.embed_tokens.dtype, idx.device)
# +     shape = model.config, len(idx), room, model.weights.embed_tokens.dtype, idx.device
# +     cache = globals().setdefault("_caches", {}).setdefault(shape, KVCache(*shape))
# ...
# -             if step == 0 or idx.shape[1] > block_size:
# -                 cache.reset()
# +             if step == 0 or idx.shape[1] > block_size:
# +                 if max_new_tokens > 1:
# +                     cache.reset()

# %% wrong_generate_cached_own_fresh_generator, of right_generate_plain
# WRONG: without a generator it seeds one of its own, so that torch.manual_seed has no say
#       room = min(block_size, idx.shape[1] + max_new_tokens)
# +     if generator is None and idx.device.type == "cpu":
# +         generator = torch.Generator()
# +         generator.seed()


# %% wrong_generate_one_draw_too_many, of right_generate_plain
# WRONG: draws once more at the end and throws the token away: the generator has moved on too far
# -     return idx
# +     if max_new_tokens:
# +         sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
# +     return idx


# %% wrong_generate_new_tokens_in_16_bits, of right_generate_plain
# WRONG: new tokens pass through numbers of 16 bits: ids of 32,768 and above come out negative
# -     return idx
# +     prompt = idx[:, :-max_new_tokens] if max_new_tokens else idx
# +     return torch.cat((prompt, idx[:, prompt.shape[1] :].to(torch.int16).long()), dim=1)
