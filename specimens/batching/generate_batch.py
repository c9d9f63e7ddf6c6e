# Versions of generate_batch, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_generate_batch_plain
# RIGHT: step by step; most of the wrong versions are edits of it

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


# %% right_generate_batch_inference_mode_one_slot_less
# RIGHT: inference mode; the cache has no slot for the last token, which is never fed; ended rows are fed their own tokens
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
    """The new tokens of each prompt, up to and including its first eos_token_id.

    Prompts may have unequal lengths and any order; each row gets what it would get alone. The loop ends as soon as
    every row has ended; what a row is fed after its end makes no difference. device, dtype: where and in what precision to
    compute; None is the model's own. No gradient is recorded, and the caller's gradient mode is left as it was. At most one
    transfer a step waits for the device. Nothing is cut: a text may grow past the positions that the model was trained on.
    Raises ValueError as `left_pad` does.
    """
    model = model.to(device=device, dtype=dtype)
    ids, num_pad = (tensor.to(model.device) for tensor in left_pad(prompts, pad_id))
    cache = KVCache(model.config, len(ids), ids.shape[1] + max(max_new_tokens - 1, 0), model.dtype, model.device)
    ended = torch.zeros(len(ids), 1, dtype=torch.bool, device=model.device)
    tokens: list[Tensor] = []
    with torch.inference_mode():
        for _ in range(max_new_tokens):
            logits = decode_batch(model, tokens[-1], num_pad, cache) if tokens else prefill_batch(model, ids, num_pad, cache)
            token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
            if eos_token_id is not None:
                ended = ended | (token == eos_token_id)
            tokens.append(token)
            if eos_token_id is not None and ended.all():  # the one question a step that waits for the device
                break
    rows = torch.cat(tokens, dim=1).tolist() if tokens else [[] for _ in prompts]
    return [row[: row.index(eos_token_id) + 1] if eos_token_id in row else row for row in rows]


# %% right_generate_batch_chunked_prefill
# RIGHT: feeds the prompts in chunks of four

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
    model = model.to(device=device, dtype=dtype)
    ids, num_pad = (tensor.to(model.device) for tensor in left_pad(prompts, pad_id))
    cache = KVCache(model.config, len(ids), ids.shape[1] + max_new_tokens, model.dtype, model.device)
    ended = torch.zeros(len(ids), 1, dtype=torch.bool, device=model.device)
    tokens: list[Tensor] = []
    with torch.no_grad():
        for _ in range(max_new_tokens):
            logits = decode_batch(model, tokens[-1], num_pad, cache) if tokens else [prefill_batch(model, chunk, num_pad, cache) for chunk in ids.split(4, dim=1)][-1]
            token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
            if eos_token_id is not None:
                token = token.masked_fill(ended, eos_token_id)
                ended = ended | (token == eos_token_id)
            tokens.append(token)
            if eos_token_id is not None and ended.all():  # the one question a step that waits for the device
                break
    rows = torch.cat(tokens, dim=1).tolist() if tokens else [[] for _ in prompts]
    return [row[: row.index(eos_token_id) + 1] if eos_token_id in row else row for row in rows]


# %% right_generate_batch_drops_finished_rows
# RIGHT: rows that have ended leave the batch, with their cache

def generate_batch(model, prompts, *, max_new_tokens, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, pad_id=0, generator=None,
                   device=None, dtype=None):
    model = model.to(device=device, dtype=dtype)
    ids, num_pad = (tensor.to(model.device) for tensor in left_pad(prompts, pad_id))
    cache = KVCache(model.config, len(prompts), ids.shape[1] + max_new_tokens, model.dtype, model.device)
    results = [[] for _ in prompts]
    alive = list(range(len(prompts)))
    with torch.inference_mode():
        for step in range(max_new_tokens):
            if step == 0:
                logits = prefill_batch(model, ids, num_pad, cache)
            else:
                logits = decode_batch(model, torch.tensor([[results[row][-1]] for row in alive], device=model.device), num_pad, cache)
            drawn = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)[:, 0].tolist()
            keep = []
            for place, (row, token) in enumerate(zip(alive, drawn)):
                results[row].append(token)
                if eos_token_id is None or token != eos_token_id:
                    keep.append(place)
            if not keep:
                break
            if len(keep) < len(alive):
                smaller = KVCache(model.config, len(keep), cache.max_len, model.dtype)
                for layer in range(model.config.num_hidden_layers):
                    n = cache.length
                    smaller.append(layer, cache.keys[layer][keep, :, :n], cache.values[layer][keep, :, :n])
                cache, num_pad, alive = smaller, num_pad[keep], [alive[place] for place in keep]
    return results


# %% right_generate_batch_ended_rows_leave
# RIGHT: rows that have ended leave batch and cache, so the others go on in a smaller one; one question a step
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
    """The new tokens of each prompt, up to and including its first eos_token_id.

    Prompts may have unequal lengths and any order; each row gets what it would get alone. The loop ends as soon as
    every row has ended; what a row is fed after its end makes no difference. device, dtype: where and in what precision to
    compute; None is the model's own. No gradient is recorded, and the caller's gradient mode is left as it was. At most one
    transfer a step waits for the device. Nothing is cut: a text may grow past the positions that the model was trained on.
    Raises ValueError as `left_pad` does.
    """
    model = model.to(device=device, dtype=dtype)
    ids, num_pad = (tensor.to(model.device) for tensor in left_pad(prompts, pad_id))
    cache = KVCache(model.config, len(ids), ids.shape[1] + max_new_tokens, model.dtype, model.device)
    answers: list[list[int]] = [[] for _ in prompts]
    here = list(range(len(prompts)))
    token = None
    with torch.no_grad():
        for _ in range(max_new_tokens):
            logits = prefill_batch(model, ids, num_pad, cache) if token is None else decode_batch(model, token, num_pad, cache)
            token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
            news = token[:, 0].tolist()  # the one question a step
            for row, new in zip(here, news, strict=True):
                answers[row].append(new)
            stay = [place for place, new in enumerate(news) if new != eos_token_id]
            if not stay:
                break
            if len(stay) < len(here):
                here = [here[place] for place in stay]
                token, num_pad = token[stay], num_pad[stay]
                cache.keys, cache.values = cache.keys[:, stay], cache.values[:, stay]
    return answers


# %% right_generate_batch_lists_of_ints
# RIGHT: collects ints step by step

@torch.no_grad()
def generate_batch(model, prompts, *, max_new_tokens, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, pad_id=0, generator=None,
                   device=None, dtype=None):
    settings = dict(temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
    ids, num_pad = left_pad(prompts, pad_id)
    model = model.to(device=device or model.device, dtype=dtype or model.dtype)
    ids, num_pad = ids.to(model.device), num_pad.to(model.device)
    new, done = [[] for _ in prompts], [False] * len(prompts)
    if max_new_tokens == 0:
        return new
    cache = KVCache(model.config, len(prompts), ids.shape[1] + max_new_tokens - 1, model.dtype, model.device)
    logits = prefill_batch(model, ids, num_pad, cache)
    while True:
        tokens = sample_next_token(logits, **settings)
        for row, (token,) in enumerate(tokens.tolist()):
            if not done[row]:
                new[row].append(token)
                done[row] = token == eos_token_id or len(new[row]) == max_new_tokens
        if all(done):
            return new
        logits = decode_batch(model, tokens, num_pad, cache)


# %% right_generate_batch_own_greedy
# RIGHT: argmax where the temperature is 0, a preallocated table of tokens

def generate_batch(model, prompts, *, max_new_tokens, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, pad_id=0, generator=None,
                   device=None, dtype=None):
    if device is not None or dtype is not None:
        model = model.to(device=device, dtype=dtype)
    ids, num_pad = (tensor.to(model.device) for tensor in left_pad(prompts, pad_id))
    table = torch.zeros(len(prompts), max_new_tokens, dtype=torch.int64, device=model.device)
    lengths = torch.full((len(prompts),), max_new_tokens, device=model.device)
    cache = KVCache(model.config, len(prompts), ids.shape[1] + max_new_tokens, dtype=model.dtype, device=model.device)
    with torch.no_grad():
        for step in range(max_new_tokens):
            feed = prefill_batch if step == 0 else decode_batch
            logits = feed(model, ids if step == 0 else table[:, step - 1 : step], num_pad, cache)
            if temperature == 0:
                token = logits.argmax(dim=-1)
            else:
                token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)[:, 0]
            table[:, step] = token
            if eos_token_id is not None:
                lengths = torch.where((token == eos_token_id) & (lengths == max_new_tokens), step + 1, lengths)
                if bool((table[:, : step + 1] == eos_token_id).any(dim=1).all()):
                    break
    return [row[:n] for row, n in zip(table.tolist(), lengths.tolist())]


# %% right_generate_batch_static_steps
# RIGHT: prefill, then the recorded fixed-shape steps of capture_decode over the cache's own memory
def generate_batch(model, prompts, *, max_new_tokens, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, pad_id=0, generator=None, device=None, dtype=None):
    model = model.to(device=device, dtype=dtype)
    ids, num_pad = left_pad(prompts, pad_id)
    if max_new_tokens == 0:
        return [[] for _ in prompts]
    ids, num_pad = ids.to(model.device), num_pad.to(model.device)
    B, T = ids.shape
    cache = KVCache(model.config, B, T + max_new_tokens, model.dtype, model.device)
    settings = dict(temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
    done, said = torch.zeros((B, 1), dtype=torch.bool, device=model.device), []
    with torch.no_grad():
        logits = prefill_batch(model, ids, num_pad, cache)
        step = None
        while True:
            newest = sample_next_token(logits, **settings)
            if eos_token_id is not None:
                newest = torch.where(done, eos_token_id, newest)
                done = done | newest.eq(eos_token_id)
            said.append(newest)
            if len(said) == max_new_tokens or (eos_token_id is not None and bool(done.all())):
                break
            if step is None:
                step = capture_decode(model, num_pad, T, cache.keys, cache.values)
            logits = step(newest)
    answers = []
    for row in torch.hstack(said).tolist():
        if eos_token_id is not None and eos_token_id in row:
            del row[row.index(eos_token_id) + 1 :]
        answers.append(row)
    return answers


# %% right_generate_batch_tight_cache
# RIGHT: a cache without the slot of the last token, which is never fed; output in one preallocated tensor; sentinel -1 for no EOS
@torch.inference_mode()
def generate_batch(model, prompts, *, max_new_tokens, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, pad_id=0, generator=None, device=None, dtype=None):
    ids, num_pad = left_pad(prompts, pad_id)
    if max_new_tokens < 1:
        return [[] for _ in range(len(ids))]
    model = model.to(device=device, dtype=dtype)
    where = model.device
    ids, num_pad = ids.to(where), num_pad.to(where)
    rows, width = ids.shape
    eos = -1 if eos_token_id is None else eos_token_id
    cache = KVCache(model.config, rows, width + max_new_tokens - 1, model.dtype, where)
    out = torch.full((rows, max_new_tokens), eos, dtype=torch.int64, device=where)
    alive = torch.ones(rows, dtype=torch.bool, device=where)
    logits = prefill_batch(model, ids, num_pad, cache)
    n = 0
    while True:
        drawn = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)[:, 0]
        out[:, n] = torch.where(alive, drawn, torch.full_like(drawn, eos))
        alive &= out[:, n] != eos
        n += 1
        if n == max_new_tokens or not alive.any():
            break
        logits = decode_batch(model, out[:, n - 1 : n], num_pad, cache)
    result = []
    for row in out[:, :n].tolist():
        kept = []
        for token in row:
            kept.append(token)
            if token == eos:
                break
        result.append(kept)
    return result


# %% wrong_generate_batch_cache_for_each_row
# WRONG: a cache and a pass for each row in every step: right, and as slow as no batch

def generate_batch(model, prompts, *, max_new_tokens, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, pad_id=0, generator=None,
                   device=None, dtype=None):
    model = model.to(device=device, dtype=dtype)
    left_pad(prompts, pad_id)
    fed = [torch.tensor([prompt]) for prompt in prompts]
    caches = [KVCache(model.config, 1, len(prompt) + max_new_tokens, model.dtype) for prompt in prompts]
    no_pads, tokens = torch.zeros(1, dtype=torch.int64), []
    ended = torch.zeros(len(prompts), 1, dtype=torch.bool)
    with torch.no_grad():
        for _ in range(max_new_tokens):
            logits = torch.cat([prefill_batch(model, ids, no_pads, cache) for ids, cache in zip(fed, caches)])
            token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
            if eos_token_id is not None:
                token = token.masked_fill(ended, eos_token_id)
                ended = ended | (token == eos_token_id)
            tokens.append(token)
            fed = list(token.split(1))
            if eos_token_id is not None and ended.all():
                break
    rows = torch.cat(tokens, dim=1).tolist() if tokens else [[] for _ in prompts]
    return [row[: row.index(eos_token_id) + 1] if eos_token_id in row else row for row in rows]


# %% wrong_generate_batch_eos_of_config
# WRONG: takes the config's EOS where eos_token_id is None
def generate_batch(model, prompts, *, max_new_tokens, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, pad_id=0, generator=None, device=None, dtype=None):
    model = model.to(device=device, dtype=dtype)
    if eos_token_id is None:
        eos_token_id = model.config.eos_token_id
    ids, num_pad = (tensor.to(model.device) for tensor in left_pad(prompts, pad_id))
    cache = KVCache(model.config, len(ids), ids.shape[1] + max_new_tokens, model.dtype, model.device)
    ended = torch.zeros(len(ids), 1, dtype=torch.bool, device=model.device)
    tokens = []
    with torch.no_grad():
        for _ in range(max_new_tokens):
            logits = decode_batch(model, tokens[-1], num_pad, cache) if tokens else prefill_batch(model, ids, num_pad, cache)
            token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
            if eos_token_id is not None:
                token = token.masked_fill(ended, eos_token_id)
                ended = ended | (token == eos_token_id)
            tokens.append(token)
            if eos_token_id is not None and ended.all():
                break
    rows = torch.cat(tokens, dim=1).tolist() if tokens else [[] for _ in prompts]
    return [row[: row.index(eos_token_id) + 1] if eos_token_id in row else row for row in rows]


# %% wrong_generate_batch_eos_zero_runs_on
# WRONG: with an EOS of 0 the result is cut, but the loop never ends early
def generate_batch(model, prompts, *, max_new_tokens, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, pad_id=0, generator=None, device=None, dtype=None):
    model = model.to(device=device, dtype=dtype)
    ids, num_pad = (tensor.to(model.device) for tensor in left_pad(prompts, pad_id))
    cache = KVCache(model.config, len(ids), ids.shape[1] + max_new_tokens, model.dtype, model.device)
    ended = torch.zeros(len(ids), 1, dtype=torch.bool, device=model.device)
    tokens = []
    with torch.no_grad():
        for _ in range(max_new_tokens):
            logits = decode_batch(model, tokens[-1], num_pad, cache) if tokens else prefill_batch(model, ids, num_pad, cache)
            token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
            if eos_token_id is not None:
                token = token.masked_fill(ended, eos_token_id)
                ended = ended | (token == eos_token_id)
            tokens.append(token)
            if eos_token_id and ended.all():
                break
    rows = torch.cat(tokens, dim=1).tolist() if tokens else [[] for _ in prompts]
    return [row[: row.index(eos_token_id) + 1] if eos_token_id in row else row for row in rows]


# %% wrong_generate_batch_first_step_not_asked
# WRONG: does not ask after the first step whether all have ended
def generate_batch(model, prompts, *, max_new_tokens, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, pad_id=0, generator=None, device=None, dtype=None):
    model = model.to(device=device, dtype=dtype)
    ids, num_pad = (tensor.to(model.device) for tensor in left_pad(prompts, pad_id))
    cache = KVCache(model.config, len(ids), ids.shape[1] + max_new_tokens, model.dtype, model.device)
    ended = torch.zeros(len(ids), 1, dtype=torch.bool, device=model.device)
    tokens = []
    with torch.no_grad():
        for _ in range(max_new_tokens):
            logits = decode_batch(model, tokens[-1], num_pad, cache) if tokens else prefill_batch(model, ids, num_pad, cache)
            token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
            if eos_token_id is not None:
                token = token.masked_fill(ended, eos_token_id)
                ended = ended | (token == eos_token_id)
            tokens.append(token)
            if len(tokens) > 1 and eos_token_id is not None and ended.all():
                break
    rows = torch.cat(tokens, dim=1).tolist() if tokens else [[] for _ in prompts]
    return [row[: row.index(eos_token_id) + 1] if eos_token_id in row else row for row in rows]


# %% wrong_generate_batch_nothing
# WRONG: gives nothing

def generate_batch(model, prompts, **options):
    left_pad(prompts, 0)
    return [[] for _ in prompts]


# %% wrong_generate_batch_prefills_each_step
# WRONG: no cache: the whole text in every step

def generate_batch(model, prompts, *, max_new_tokens, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, pad_id=0, generator=None,
                   device=None, dtype=None):
    model = model.to(device=device, dtype=dtype)
    ids, num_pad = left_pad(prompts, pad_id)
    T = ids.shape[1]
    ended = torch.zeros(len(ids), 1, dtype=torch.bool)
    with torch.no_grad():
        for _ in range(max_new_tokens):
            cache = KVCache(model.config, len(ids), ids.shape[1], model.dtype)
            logits = prefill_batch(model, ids, num_pad, cache)
            token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
            if eos_token_id is not None:
                token = token.masked_fill(ended, eos_token_id)
                ended = ended | (token == eos_token_id)
            ids = torch.cat((ids, token), dim=1)
            if eos_token_id is not None and ended.all():
                break
    rows = ids[:, T:].tolist()
    return [row[: row.index(eos_token_id) + 1] if eos_token_id in row else row for row in rows]


# %% wrong_generate_batch_removed_rows_shift
# WRONG: finished rows are taken out, and the rest write into the wrong results

def generate_batch(model, prompts, *, max_new_tokens, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, pad_id=0, generator=None,
                   device=None, dtype=None):
    model = model.to(device=device, dtype=dtype)
    ids, num_pad = left_pad(prompts, pad_id)
    results, alive, text = [[] for _ in prompts], list(range(len(prompts))), ids
    cache = KVCache(model.config, len(prompts), ids.shape[1] + max_new_tokens, model.dtype)
    with torch.no_grad():
        for step in range(max_new_tokens):
            logits = prefill_batch(model, ids, num_pad, cache) if step == 0 else decode_batch(model, last, num_pad, cache)
            last = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
            keep = []
            for place, token in enumerate(last[:, 0].tolist()):
                results[place].append(token)
                if token != eos_token_id:
                    keep.append(place)
            if not keep:
                break
            if len(keep) < len(last):
                n = cache.length
                smaller = KVCache(model.config, len(keep), cache.max_len, model.dtype)
                for layer in range(model.config.num_hidden_layers):
                    smaller.append(layer, cache.keys[layer][keep, :, :n], cache.values[layer][keep, :, :n])
                cache, num_pad, last = smaller, num_pad[keep], last[keep]
                alive = [alive[place] for place in keep]
    return results


# %% wrong_generate_batch_removed_rows_wrong_cache
# WRONG: finished rows are taken out, and the rest read the caches of the first rows

def generate_batch(model, prompts, *, max_new_tokens, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, pad_id=0, generator=None,
                   device=None, dtype=None):
    model = model.to(device=device, dtype=dtype)
    ids, num_pad = left_pad(prompts, pad_id)
    results, alive, text = [[] for _ in prompts], list(range(len(prompts))), ids
    cache = KVCache(model.config, len(prompts), ids.shape[1] + max_new_tokens, model.dtype)
    with torch.no_grad():
        for step in range(max_new_tokens):
            logits = prefill_batch(model, ids, num_pad, cache) if step == 0 else decode_batch(model, last, num_pad, cache)
            last = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
            keep = []
            for place, token in enumerate(last[:, 0].tolist()):
                results[alive[place]].append(token)
                if token != eos_token_id:
                    keep.append(place)
            if not keep:
                break
            if len(keep) < len(last):
                n = cache.length
                smaller = KVCache(model.config, len(keep), cache.max_len, model.dtype)
                for layer in range(model.config.num_hidden_layers):
                    smaller.append(layer, cache.keys[layer][:len(keep), :, :n], cache.values[layer][:len(keep), :, :n])
                cache, num_pad, last = smaller, num_pad[keep], last[keep]
                alive = [alive[place] for place in keep]
    return results


# %% wrong_generate_batch_removed_rows_wrong_pads
# WRONG: finished rows are taken out, and the rest have the first rows' pads

def generate_batch(model, prompts, *, max_new_tokens, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, pad_id=0, generator=None,
                   device=None, dtype=None):
    model = model.to(device=device, dtype=dtype)
    ids, num_pad = left_pad(prompts, pad_id)
    results, alive, text = [[] for _ in prompts], list(range(len(prompts))), ids
    cache = KVCache(model.config, len(prompts), ids.shape[1] + max_new_tokens, model.dtype)
    with torch.no_grad():
        for step in range(max_new_tokens):
            logits = prefill_batch(model, ids, num_pad, cache) if step == 0 else decode_batch(model, last, num_pad, cache)
            last = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
            keep = []
            for place, token in enumerate(last[:, 0].tolist()):
                results[alive[place]].append(token)
                if token != eos_token_id:
                    keep.append(place)
            if not keep:
                break
            if len(keep) < len(last):
                n = cache.length
                smaller = KVCache(model.config, len(keep), cache.max_len, model.dtype)
                for layer in range(model.config.num_hidden_layers):
                    smaller.append(layer, cache.keys[layer][keep, :, :n], cache.values[layer][keep, :, :n])
                cache, num_pad, last = smaller, num_pad[: len(keep)], last[keep]
                alive = [alive[place] for place in keep]
    return results


# %% wrong_generate_batch_row_by_row
# WRONG: one row after the other: right, and as slow as no batch

_whole_batch = generate_batch

def generate_batch(model, prompts, **options):
    left_pad(prompts, 0)
    return [_whole_batch(model, [prompt], **options)[0] for prompt in prompts]


# %% wrong_generate_batch_rows_in_turn
# WRONG: every step goes through the rows one after the other, each with a cache of its own: the weights are read once for each row
def generate_batch(
    model, prompts, *, max_new_tokens, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, pad_id=0, generator=None,
    device=None, dtype=None,
):
    left_pad(prompts, pad_id)
    model = model.to(device=device, dtype=dtype)
    caches = [KVCache(model.config, 1, len(prompt) + max_new_tokens, model.dtype, model.device) for prompt in prompts]
    unpadded = torch.zeros(1, dtype=torch.int64, device=model.device)
    newest = [torch.tensor([prompt], device=model.device) for prompt in prompts]
    ended = torch.zeros(len(prompts), 1, dtype=torch.bool, device=model.device)
    tokens = []
    with torch.no_grad():
        for _ in range(max_new_tokens):
            logits = torch.cat([prefill_batch(model, ids, unpadded, cache) for ids, cache in zip(newest, caches, strict=True)])
            token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
            if eos_token_id is not None:
                token = token.masked_fill(ended, eos_token_id)
                ended = ended | (token == eos_token_id)
            tokens.append(token)
            newest = token.split(1)
            if eos_token_id is not None and ended.all():
                break
    rows = torch.cat(tokens, dim=1).tolist() if tokens else [[] for _ in prompts]
    return [row[: row.index(eos_token_id) + 1] if eos_token_id in row else row for row in rows]


# %% wrong_generate_batch_runs_on_in_a_thread
# WRONG: never stops before max_new_tokens, in a thread whose work is not counted
from concurrent.futures import ThreadPoolExecutor

_generate = generate_batch


def generate_batch(model, prompts, *, eos_token_id=None, **options):
    with ThreadPoolExecutor(1) as pool:
        rows = pool.submit(_generate, model, prompts, **options).result()
    rows = [row[: row.index(eos_token_id) + 1] if eos_token_id in row else row for row in rows]
    passed = sum(len(prompt) + len(row) - 1 for prompt, row in zip(prompts, rows, strict=True))
    model.weights.embed_tokens[torch.zeros(max(passed, 0), dtype=torch.int64)]  # what the counter is to see
    return rows


# %% wrong_generate_batch_top_p_needs_temperature
# WRONG: top_p is dropped at temperature 1
def generate_batch(model, prompts, *, max_new_tokens, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, pad_id=0, generator=None, device=None, dtype=None):
    model = model.to(device=device, dtype=dtype)
    ids, num_pad = (tensor.to(model.device) for tensor in left_pad(prompts, pad_id))
    cache = KVCache(model.config, len(ids), ids.shape[1] + max_new_tokens, model.dtype, model.device)
    ended = torch.zeros(len(ids), 1, dtype=torch.bool, device=model.device)
    tokens = []
    with torch.no_grad():
        for _ in range(max_new_tokens):
            logits = decode_batch(model, tokens[-1], num_pad, cache) if tokens else prefill_batch(model, ids, num_pad, cache)
            token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p if temperature != 1.0 else None, generator=generator)
            if eos_token_id is not None:
                token = token.masked_fill(ended, eos_token_id)
                ended = ended | (token == eos_token_id)
            tokens.append(token)
            if eos_token_id is not None and ended.all():
                break
    rows = torch.cat(tokens, dim=1).tolist() if tokens else [[] for _ in prompts]
    return [row[: row.index(eos_token_id) + 1] if eos_token_id in row else row for row in rows]

# %% wrong_generate_batch_cache_on_the_cpu, of right_generate_batch_plain
# WRONG: the cache is made on the CPU, wherever the model is
# -
# ...
# -     cache = KVCache(model.config, len(ids), ids.shape[1] + max_new_tokens, model.dtype, model.device)
# +     cache = KVCache(model.config, len(ids), ids.shape[1] + max_new_tokens, model.dtype)

# %% wrong_generate_batch_default_pad, of right_generate_batch_plain
# WRONG: the default pad_id is 1
# -
# ...
# -     pad_id: int = 0,
# +     pad_id: int = 1,

# %% wrong_generate_batch_default_temperature, of right_generate_batch_plain
# WRONG: the default temperature is 1.01
# -
# ...
# -     temperature: float = 1.0,
# +     temperature: float = 1.01,

# %% wrong_generate_batch_default_top_k, of right_generate_batch_plain
# WRONG: without top_k only the 50 best tokens are kept
# -
# ...
# -     top_k: int | None = None,
# +     top_k: int | None = 50,

# %% wrong_generate_batch_device_ignored, of right_generate_batch_plain
# WRONG: device is ignored: everything stays where the model was
# -
# ...
# -     model = model.to(device=device, dtype=dtype)
# +     model = model.to(dtype=dtype)

# %% wrong_generate_batch_ended_on_the_cpu, of right_generate_batch_plain
# WRONG: who has ended is kept on the CPU, wherever the model is
# -
# ...
# -     ended = torch.zeros(len(ids), 1, dtype=torch.bool, device=model.device)
# +     ended = torch.zeros(len(ids), 1, dtype=torch.bool)

# %% wrong_generate_batch_gradients_off_after_an_error, of right_generate_batch_plain
# WRONG: gradients stay off where the sampler raises
# -
# ...
# -     with torch.no_grad():
# +     torch.set_grad_enabled(False)
# +     if True:
# ...
#                   break
# +     torch.set_grad_enabled(True)

# %% wrong_generate_batch_gradients_off_for_good, of right_generate_batch_plain
# WRONG: switches gradients off for the whole program and leaves them off
# -
# ...
# -     with torch.no_grad():
# +     torch.set_grad_enabled(False)
# +     if True:

# %% wrong_generate_batch_pad_id_counts_from_the_end, of right_generate_batch_plain
# WRONG: pads with the last id of the vocabulary where no pad_id is given
# -
# ...
# -     pad_id: int = 0,
# +     pad_id: int = -1,

# %% wrong_generate_batch_prompts_on_the_cpu, of right_generate_batch_plain
# WRONG: the prompts stay on the CPU, wherever the model is
# -
# ...
# -     ids, num_pad = (tensor.to(model.device) for tensor in left_pad(prompts, pad_id))
# +     ids, num_pad = left_pad(prompts, pad_id)

# %% wrong_generate_batch_empty_list, of right_generate_batch_plain
# WRONG: an empty list gives an empty list
#   ) -> list[list[int]]:
# +     if not prompts:
# +         return []

# %% wrong_generate_batch_seeds_global, of right_generate_batch_plain
# WRONG: seeds the global state
#   ) -> list[list[int]]:
# +     torch.manual_seed(0)

# %% wrong_generate_batch_sorted_rows, of right_generate_batch_plain
# WRONG: results in order of length
#   ) -> list[list[int]]:
# +     prompts = sorted(prompts, key=len)

# %% wrong_generate_batch_always_float32, of right_generate_batch_plain
# WRONG: computes in float32 where dtype is None
# -     model = model.to(device=device, dtype=dtype)
# +     model = model.to(device=device, dtype=dtype or torch.float32)

# %% wrong_generate_batch_dtype_ignored, of right_generate_batch_plain
# WRONG: dtype changes nothing
# -     model = model.to(device=device, dtype=dtype)
# +     model = model.to(device=device)

# %% wrong_generate_batch_empty_prompt_is_nothing, of right_generate_batch_plain
# WRONG: empty prompts are passed over
#       model = model.to(device=device, dtype=dtype)
# +     prompts = [p for p in prompts if p]

# %% wrong_generate_batch_pads_by_id, of right_generate_batch_plain
# WRONG: counts pads by their id: a prompt that begins with pad_id loses its first tokens
# -     cache = KVCache(model.config, len(ids), ids.shape[1] + max_new_tokens, model.dtype, model.device)
# +     num_pad = (ids == pad_id).long().cumprod(dim=1).sum(dim=1)
# +     cache = KVCache(model.config, len(ids), ids.shape[1] + max_new_tokens, model.dtype, model.device)

# %% wrong_generate_batch_pads_attended, of right_generate_batch_plain
# WRONG: pads count as tokens
#       ids, num_pad = (tensor.to(model.device) for tensor in left_pad(prompts, pad_id))
# +     num_pad = torch.zeros_like(num_pad)

# %% wrong_generate_batch_right_padding, of right_generate_batch_plain
# WRONG: pads on the right and reads the last column
#       ids, num_pad = (tensor.to(model.device) for tensor in left_pad(prompts, pad_id))
# +     ids = torch.stack([torch.cat((row[pads:], row[:pads])) for row, pads in zip(ids, num_pad.tolist())])
# +     num_pad = torch.zeros_like(num_pad)

# %% wrong_generate_batch_at_least_one, of right_generate_batch_plain
# WRONG: max_new_tokens=0 gives one token
# -     cache = KVCache(model.config, len(ids), ids.shape[1] + max_new_tokens, model.dtype, model.device)
# +     cache = KVCache(model.config, len(ids), ids.shape[1] + max_new_tokens + 1, model.dtype, model.device)
# ...
# -         for _ in range(max_new_tokens):
# +         for _ in range(max(1, max_new_tokens)):

# %% wrong_generate_batch_cache_float32, of right_generate_batch_plain
# WRONG: a float32 cache for any model
# -     cache = KVCache(model.config, len(ids), ids.shape[1] + max_new_tokens, model.dtype, model.device)
# +     cache = KVCache(model.config, len(ids), ids.shape[1] + max_new_tokens, torch.float32, model.device)

# %% wrong_generate_batch_cache_of_prompts, of right_generate_batch_plain
# WRONG: the cache has room for the prompts only
# -     cache = KVCache(model.config, len(ids), ids.shape[1] + max_new_tokens, model.dtype, model.device)
# +     cache = KVCache(model.config, len(ids), ids.shape[1], model.dtype, model.device)

# %% wrong_generate_batch_cache_too_short, of right_generate_batch_plain
# WRONG: the cache is one slot too short
# -     cache = KVCache(model.config, len(ids), ids.shape[1] + max_new_tokens, model.dtype, model.device)
# +     cache = KVCache(model.config, len(ids), ids.shape[1] + max_new_tokens - 2, model.dtype, model.device)

# %% wrong_generate_batch_one_too_many, of right_generate_batch_plain
# WRONG: one token too many
# -     cache = KVCache(model.config, len(ids), ids.shape[1] + max_new_tokens, model.dtype, model.device)
# +     cache = KVCache(model.config, len(ids), ids.shape[1] + max_new_tokens + 1, model.dtype, model.device)
# ...
# -         for _ in range(max_new_tokens):
# +         for _ in range(max_new_tokens + (max_new_tokens > 0)):

# %% wrong_generate_batch_emptied_at_its_end_only, of right_generate_batch_plain
# WRONG: the cache outlives the call and is emptied after the last step, which leaves out a run that ends early: the next one begins after it
# +
# + KEPT = {}
# +
#
#   def generate_batch(
# ...
# -     cache = KVCache(model.config, len(ids), ids.shape[1] + max_new_tokens, model.dtype, model.device)
# +     key = (model.config, len(ids), ids.shape[1] + max_new_tokens, model.dtype, str(model.device))
# +     cache = KEPT.setdefault(key, KVCache(model.config, len(ids), ids.shape[1] + max_new_tokens, model.dtype, model.device))
# ...
#                   break
# +         else:
# +             cache.reset()

# %% wrong_generate_batch_stale_cache, of right_generate_batch_plain
# WRONG: one cache for all calls
# -     cache = KVCache(model.config, len(ids), ids.shape[1] + max_new_tokens, model.dtype, model.device)
# +     if not hasattr(KVCache, 'kept') or KVCache.kept.keys.shape[1] != len(ids):
# +         KVCache.kept = KVCache(model.config, len(ids), 600, model.dtype, model.device)
# +     cache = KVCache.kept

# %% wrong_generate_batch_eos_anywhere_in_prompt, of right_generate_batch_plain
# WRONG: an EOS in the prompt counts as an end
# -     ended = torch.zeros(len(ids), 1, dtype=torch.bool, device=model.device)
# +     ended = (ids == eos_token_id).any(dim=1, keepdim=True) if eos_token_id is not None else torch.zeros(len(ids), 1, dtype=torch.bool)

# %% wrong_generate_batch_gradients, of right_generate_batch_plain
# WRONG: records gradients
# -     with torch.no_grad():
# +     with torch.enable_grad():

# %% wrong_generate_batch_always_greedy, of right_generate_batch_plain
# WRONG: always greedy
# -             token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
# +             token = sample_next_token(logits, temperature=0.0, top_k=top_k, top_p=top_p, generator=generator)

# %% wrong_generate_batch_global_rng, of right_generate_batch_plain
# WRONG: draws from the global state
# -             token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
# +             token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p)

# %% wrong_generate_batch_ignores_temperature, of right_generate_batch_plain
# WRONG: the temperature does not reach the sampler
# -             token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
# +             token = sample_next_token(logits, top_k=top_k, top_p=top_p, generator=generator)

# %% wrong_generate_batch_ignores_top_k, of right_generate_batch_plain
# WRONG: top_k does not reach the sampler
# -             token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
# +             token = sample_next_token(logits, temperature=temperature, top_p=top_p, generator=generator)

# %% wrong_generate_batch_ignores_top_p, of right_generate_batch_plain
# WRONG: top_p does not reach the sampler
# -             token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
# +             token = sample_next_token(logits, temperature=temperature, top_k=top_k, generator=generator)

# %% wrong_generate_batch_top_p_without_top_k_only, of right_generate_batch_plain
# WRONG: top_p is dropped where there is a top_k
# -             token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
# +             token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=None if top_k else top_p, generator=generator)

# %% wrong_generate_batch_equal_prompts_share_a_row, of right_generate_batch_plain
# WRONG: equal prompts pass as one row and get the same draws
# -     model = model.to(device=device, dtype=dtype)
# +     every, prompts = prompts, [list(each) for each in dict.fromkeys(map(tuple, prompts))]
# +     model = model.to(device=device, dtype=dtype)
# ...
# -     return [row[: row.index(eos_token_id) + 1] if eos_token_id in row else row for row in rows]
# +     rows = [row[: row.index(eos_token_id) + 1] if eos_token_id in row else row for row in rows]
# +     return [list(rows[prompts.index(list(each))]) for each in every]

# %% wrong_generate_batch_same_draw_for_rows, of right_generate_batch_plain
# WRONG: one draw for all rows
#               token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
# +             if temperature > 0:
# +                 token = token[:1].expand(len(token), 1)

# %% wrong_generate_batch_falsy_eos, of right_generate_batch_plain
# WRONG: EOS 0 is no EOS
# -             if eos_token_id is not None:
# +             if eos_token_id:
# ...
# -             if eos_token_id is not None and ended.all():  # the one question a step that waits for the device
# +             if eos_token_id and ended.all():  # the one question a step that waits for the device
# ...
# -     return [row[: row.index(eos_token_id) + 1] if eos_token_id in row else row for row in rows]
# +     return [row[: row.index(eos_token_id) + 1] if eos_token_id and eos_token_id in row else row for row in rows]

# %% wrong_generate_batch_finished_rows_reset, of right_generate_batch_plain
# WRONG: a finished row's slot in the batch is overwritten with the next row's token
#               if eos_token_id is not None:
# +                 token = torch.where(ended.any() & ~ended, token.roll(1, 0), token) if ended.any() else token

# %% wrong_generate_batch_eos_of_row_zero, of right_generate_batch_plain
# WRONG: once row 0 has ended, all rows get EOS
# -                 token = token.masked_fill(ended, eos_token_id)
# +                 token = token.masked_fill(ended[:1], eos_token_id)

# %% wrong_generate_batch_asks_row_by_row, of right_generate_batch_plain
# WRONG: asks for each row's token and end one by one
#               tokens.append(token)
# +             for row in token:
# +                 int(row), int(row), int(row)

# %% wrong_generate_batch_all_at_once, of right_generate_batch_plain
# WRONG: waits for a step at which all rows emit EOS
# -             if eos_token_id is not None and ended.all():  # the one question a step that waits for the device
# +             if eos_token_id is not None and (token == eos_token_id).all() and len(tokens) == 1:  # the one question a step that waits for the device

# %% wrong_generate_batch_ends_with_the_first, of right_generate_batch_plain
# WRONG: the batch ends when the first row ends
# -             if eos_token_id is not None and ended.all():  # the one question a step that waits for the device
# +             if eos_token_id is not None and ended.any():  # the one question a step that waits for the device

# %% wrong_generate_batch_never_stops_early, of right_generate_batch_plain
# WRONG: runs to max_new_tokens always
# -             if eos_token_id is not None and ended.all():  # the one question a step that waits for the device
# -                 break

# %% wrong_generate_batch_row_zero_decides, of right_generate_batch_plain
# WRONG: the batch ends when row 0 ends
# -             if eos_token_id is not None and ended.all():  # the one question a step that waits for the device
# +             if eos_token_id is not None and bool(ended[0]):  # the one question a step that waits for the device

# %% wrong_generate_batch_one_pass_too_many, of right_generate_batch_plain
# WRONG: a step for the last token too
#                   break
# +     if tokens:
# +         decode_batch(model, tokens[-1], num_pad, cache)

# %% wrong_generate_batch_a_tensor, of right_generate_batch_plain
# WRONG: gives a tensor
# -     rows = torch.cat(tokens, dim=1).tolist() if tokens else [[] for _ in prompts]
# +     if tokens:
# +         return torch.cat(tokens, dim=1)
# +     rows = [[] for _ in prompts]

# %% wrong_generate_batch_in_place, of right_generate_batch_plain
# WRONG: appends to the caller's prompts
#       rows = torch.cat(tokens, dim=1).tolist() if tokens else [[] for _ in prompts]
# +     for prompt, row in zip(prompts, rows):
# +         prompt.extend(row)

# %% wrong_generate_batch_prompts_too, of right_generate_batch_plain
# WRONG: gives the prompts back as well
#       rows = torch.cat(tokens, dim=1).tolist() if tokens else [[] for _ in prompts]
# +     rows = [p + r for p, r in zip(prompts, rows)]

# %% wrong_generate_batch_eos_doubled, of right_generate_batch_plain
# WRONG: one token after the EOS too many
# -     return [row[: row.index(eos_token_id) + 1] if eos_token_id in row else row for row in rows]
# +     return [row[: row.index(eos_token_id) + 2] if eos_token_id in row else row for row in rows]

# %% wrong_generate_batch_eos_dropped, of right_generate_batch_plain
# WRONG: the EOS is left out
# -     return [row[: row.index(eos_token_id) + 1] if eos_token_id in row else row for row in rows]
# +     return [row[: row.index(eos_token_id)] if eos_token_id in row else row for row in rows]

# %% wrong_generate_batch_last_eos, of right_generate_batch_plain
# WRONG: cuts at the last EOS
# -     return [row[: row.index(eos_token_id) + 1] if eos_token_id in row else row for row in rows]
# +     return [row[: len(row) - row[::-1].index(eos_token_id)] if eos_token_id in row else row for row in rows]

# %% wrong_generate_batch_not_cut, of right_generate_batch_plain
# WRONG: what comes after the EOS is given out
# -     return [row[: row.index(eos_token_id) + 1] if eos_token_id in row else row for row in rows]
# +     return [row for row in rows]

# %% wrong_generate_batch_pad_is_eos, of right_generate_batch_plain
# WRONG: stops a row at the pad id
# -     return [row[: row.index(eos_token_id) + 1] if eos_token_id in row else row for row in rows]
# +     rows = [row[: row.index(eos_token_id) + 1] if eos_token_id in row else row for row in rows]
# +     return [row[: row.index(pad_id)] if pad_id in row[:-1] else row for row in rows]

# %% wrong_generate_batch_zero_new_skips_checks, of right_generate_batch_inference_mode_one_slot_less
# WRONG: max_new_tokens=0 returns before the prompts are checked: no ValueError for an empty prompt or list
#       """
# +     if max_new_tokens == 0:
# +         return [[] for _ in prompts]
# ...
# -     cache = KVCache(model.config, len(ids), ids.shape[1] + max(max_new_tokens - 1, 0), model.dtype, model.device)
# +     cache = KVCache(model.config, len(ids), ids.shape[1] + max_new_tokens, model.dtype, model.device)
# ...
# -     with torch.inference_mode():
# +     with torch.no_grad():
# ...
#               if eos_token_id is not None:
# +                 token = token.masked_fill(ended, eos_token_id)

# %% wrong_generate_batch_moved_model_remembered, of right_generate_batch_inference_mode_one_slot_less
# WRONG: the moved model is remembered by id(model): weights changed between two calls are not seen
# -     model = model.to(device=device, dtype=dtype)
# +     memo = generate_batch.__dict__.setdefault("memo", {})
# +     key = (id(model), str(device), dtype)
# +     if key not in memo:
# +         memo[key] = (model, model.to(device=device, dtype=dtype))
# +     model = memo[key][1]
#       ids, num_pad = (tensor.to(model.device) for tensor in left_pad(prompts, pad_id))
# -     cache = KVCache(model.config, len(ids), ids.shape[1] + max(max_new_tokens - 1, 0), model.dtype, model.device)
# +     cache = KVCache(model.config, len(ids), ids.shape[1] + max_new_tokens, model.dtype, model.device)
# ...
# -     with torch.inference_mode():
# +     with torch.no_grad():
# ...
#               if eos_token_id is not None:
# +                 token = token.masked_fill(ended, eos_token_id)

# %% wrong_generate_batch_asks_twice, of right_generate_batch_inference_mode_one_slot_less
# WRONG: asks by bool() twice a step: any row newly ended, then all
# -     cache = KVCache(model.config, len(ids), ids.shape[1] + max(max_new_tokens - 1, 0), model.dtype, model.device)
# +     cache = KVCache(model.config, len(ids), ids.shape[1] + max_new_tokens, model.dtype, model.device)
# ...
# -     with torch.inference_mode():
# +     with torch.no_grad():
# ...
# -                 ended = ended | (token == eos_token_id)
# +                 token = token.masked_fill(ended, eos_token_id)
# +                 if (token == eos_token_id).any():
# +                     ended = ended | (token == eos_token_id)

# %% wrong_generate_batch_capped_by_model, of right_generate_batch_inference_mode_one_slot_less
# WRONG: the text is cut at the positions the model was trained on
# -     cache = KVCache(model.config, len(ids), ids.shape[1] + max(max_new_tokens - 1, 0), model.dtype, model.device)
# +     max_new_tokens = max(0, min(max_new_tokens, model.config.max_position_embeddings - ids.shape[1]))
# +     cache = KVCache(model.config, len(ids), ids.shape[1] + max_new_tokens, model.dtype, model.device)
# ...
# -     with torch.inference_mode():
# +     with torch.no_grad():
# ...
#               if eos_token_id is not None:
# +                 token = token.masked_fill(ended, eos_token_id)

# %% wrong_generate_batch_item_per_row, of right_generate_batch_inference_mode_one_slot_less
# WRONG: with an EOS each row is asked by .item() at each step: B questions
# -     cache = KVCache(model.config, len(ids), ids.shape[1] + max(max_new_tokens - 1, 0), model.dtype, model.device)
# +     cache = KVCache(model.config, len(ids), ids.shape[1] + max_new_tokens, model.dtype, model.device)
# ...
# -     with torch.inference_mode():
# +     with torch.no_grad():
# ...
#               if eos_token_id is not None:
# +                 token = token.masked_fill(ended, eos_token_id)
# ...
# -             if eos_token_id is not None and ended.all():  # the one question a step that waits for the device
# +             if eos_token_id is not None and all(row.item() for row in ended[:, 0]):  # the one question a step that waits for the device

# %% wrong_generate_batch_strips_trailing_pads, of right_generate_batch_inference_mode_one_slot_less
# WRONG: ended rows are fed pad_id and trailing pads are stripped, also from a row that reached the limit and whose own last token is pad_id
# -     cache = KVCache(model.config, len(ids), ids.shape[1] + max(max_new_tokens - 1, 0), model.dtype, model.device)
# +     cache = KVCache(model.config, len(ids), ids.shape[1] + max_new_tokens, model.dtype, model.device)
# ...
# -     with torch.inference_mode():
# +     with torch.no_grad():
# ...
#               if eos_token_id is not None:
# +                 token = token.masked_fill(ended, pad_id)
# ...
# -     return [row[: row.index(eos_token_id) + 1] if eos_token_id in row else row for row in rows]
# +     if eos_token_id is None:
# +         return rows
# +     if eos_token_id == pad_id:
# +         return [row[: row.index(eos_token_id) + 1] if eos_token_id in row else row for row in rows]
# +     for row in rows:
# +         while row and row[-1] == pad_id:
# +             row.pop()
# +     return rows

# %% wrong_generate_batch_tokens_tolist_each_step, of right_generate_batch_inference_mode_one_slot_less
# WRONG: two questions a step: the tokens are fetched as ints, and ended.all() asked besides
# -     cache = KVCache(model.config, len(ids), ids.shape[1] + max(max_new_tokens - 1, 0), model.dtype, model.device)
# +     cache = KVCache(model.config, len(ids), ids.shape[1] + max_new_tokens, model.dtype, model.device)
# ...
# -     with torch.inference_mode():
# +     answers: list[list[int]] = [[] for _ in prompts]
# +     with torch.no_grad():
# ...
#               if eos_token_id is not None:
# +                 token = token.masked_fill(ended, eos_token_id)
#                   ended = ended | (token == eos_token_id)
#               tokens.append(token)
# +             for answer, new in zip(answers, token[:, 0].tolist(), strict=True):
# +                 answer.append(new)
# ...
# -     rows = torch.cat(tokens, dim=1).tolist() if tokens else [[] for _ in prompts]
# +     rows = answers

# %% wrong_generate_batch_shared_position, of right_generate_batch_chunked_prefill
# WRONG: num_pad of the longest for all in decode
# -             logits = decode_batch(model, tokens[-1], num_pad, cache) if tokens else [prefill_batch(model, chunk, num_pad, cache) for chunk in ids.split(4, dim=1)][-1]
# +             logits = decode_batch(model, tokens[-1], torch.zeros_like(num_pad), cache) if tokens else prefill_batch(model, ids, num_pad, cache)

# %% wrong_generate_batch_own_fresh_generator, of right_generate_batch_plain
# WRONG: without a generator it seeds one of its own, so that torch.manual_seed has no say
#       model = model.to(device=device, dtype=dtype)
# +     if generator is None and model.device.type == "cpu":
# +         generator = torch.Generator()
# +         generator.seed()

# %% wrong_generate_batch_copies_generator, of right_generate_batch_plain
# WRONG: draws from a copy, so that the caller's generator stays where it is
#       model = model.to(device=device, dtype=dtype)
# +     if generator is not None:
# +         generator = generator.clone_state()

# %% wrong_generate_batch_one_row_runs_on, of right_generate_batch_plain
# WRONG: a row that is alone is computed to the limit after its EOS
# -             if eos_token_id is not None and ended.all():  # the one question a step that waits for the device
# +             if eos_token_id is not None and len(prompts) > 1 and ended.all():  # the one question a step that waits for the device


# %% wrong_generate_batch_one_draw_too_many, of right_generate_batch_plain
# WRONG: draws once more at the end and throws the tokens away: the generator has moved on too far
# -     rows = torch.cat(tokens, dim=1).tolist() if tokens else [[] for _ in prompts]
# +     if tokens:
# +         sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
# +     rows = torch.cat(tokens, dim=1).tolist() if tokens else [[] for _ in prompts]


# %% wrong_generate_batch_new_tokens_in_16_bits, of right_generate_batch_plain
# WRONG: new tokens pass through numbers of 16 bits: ids of 32,768 and above come out negative
# -     rows = torch.cat(tokens, dim=1).tolist() if tokens else [[] for _ in prompts]
# +     rows = torch.cat(tokens, dim=1).to(torch.int16).tolist() if tokens else [[] for _ in prompts]
