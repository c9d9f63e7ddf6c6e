# Versions of sample_next_token, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_next_token_plain
# RIGHT: step by step; most of the wrong versions are edits of it

def sample_next_token(logits, *, temperature=1.0, top_k=None, top_p=None, generator=None):
    logits = at_least_float32(logits)
    probs = temperature_probs(logits, temperature)
    if top_k is not None:
        probs = top_k_probs(probs.log(), top_k)
    if top_p is not None:
        probs = top_p_probs(probs.log(), top_p)
    if temperature == 0:
        return greedy_sample(logits)
    return torch.multinomial(probs, 1, generator=generator)


# %% right_next_token_sorted_once
# RIGHT: sorts once, works on sorted float64 probabilities in numpy, maps the rank back

import numpy as np


def sample_next_token(logits, *, temperature=1.0, top_k=None, top_p=None, generator=None):
    logits = at_least_float32(logits)
    if temperature < 0:
        raise ValueError(f"temperature must be >= 0 (got {temperature})")
    if top_k is not None and top_k < 1:
        raise ValueError(f"top_k must be >= 1 (got {top_k})")
    if top_p is not None and (top_p <= 0 or top_p > 1):
        raise ValueError(f"top_p must be in (0, 1] (got {top_p})")
    x = logits.double().numpy()
    ids = np.argsort(-x, axis=1, kind="stable")
    if temperature == 0:
        return torch.from_numpy(ids[:, :1].copy())
    x = np.take_along_axis(x, ids, axis=1)
    weights = np.exp((x - x[:, :1]) / temperature)
    if top_k is not None and top_k < x.shape[1]:
        weights[x < x[:, top_k - 1 : top_k]] = 0
    probs = weights / weights.sum(axis=1, keepdims=True)
    if top_p is not None and top_p < 1:
        probs[np.cumsum(probs, axis=1) - probs >= top_p] = 0
    sums = np.cumsum(probs, axis=1)
    u = torch.rand(len(x), 1, generator=generator, dtype=torch.float64, device=logits.device).numpy() * sums[:, -1:]
    rank = (sums <= u).sum(axis=1, keepdims=True)
    return torch.from_numpy(np.take_along_axis(ids, rank, axis=1))


# %% right_next_token_greedy_first
# RIGHT: greedy as soon as the filters have been asked; the last filter calls the sampler

def sample_next_token(logits, *, temperature=1.0, top_k=None, top_p=None, generator=None):
    if temperature == 0:
        for probs, setting in ((top_k_probs, top_k), (top_p_probs, top_p)):
            if setting is not None:
                probs(logits, setting)
        return greedy_sample(logits)
    if top_k is None and top_p is None:
        return temperature_sample(logits, temperature, generator)
    x = temperature_probs(logits, temperature).log()
    if top_p is None:
        return top_k_sample(x, top_k, generator)
    if top_k is not None:
        x = top_k_probs(x, top_k).log()
    return top_p_sample(x, top_p, generator)


# %% right_next_token_gumbel
# RIGHT: the distributions, then Gumbel noise

def sample_next_token(logits, *, temperature=1.0, top_k=None, top_p=None, generator=None):
    logits = at_least_float32(logits)
    probs = temperature_probs(logits.double(), temperature)
    if top_k is not None:
        probs = top_k_probs(probs.log(), top_k)
    if top_p is not None:
        probs = top_p_probs(probs.log(), top_p)
    if temperature == 0:
        return greedy_sample(logits)
    u = torch.rand(probs.shape, generator=generator, dtype=torch.float64, device=logits.device).clamp_min(1e-300)
    return torch.argmax(probs.log() - torch.log(-torch.log(u)), dim=-1, keepdim=True)


# %% right_next_token_masks
# RIGHT: one masked tensor of logits; multinomial

def sample_next_token(logits, *, temperature=1.0, top_k=None, top_p=None, generator=None):
    logits = at_least_float32(logits)
    if temperature < 0:
        raise ValueError(f"temperature {temperature}")
    if top_k is not None and top_k < 1:
        raise ValueError(f"top_k {top_k}")
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError(f"top_p {top_p}")
    if temperature == 0:
        return logits.argmax(-1, keepdim=True)
    x = logits / temperature
    if top_k is not None and top_k < x.shape[-1]:
        kth = torch.topk(x, top_k).values[:, -1, None]
        x = torch.where(x < kth, -torch.inf, x)
    if top_p is not None and top_p < 1:
        ordered, ids = x.sort(descending=True)
        before = ordered.softmax(-1).cumsum(-1).roll(1, -1)
        before[:, 0] = 0
        x = torch.full_like(x, -torch.inf).scatter(-1, ids, ordered.masked_fill(before >= top_p, -torch.inf))
    return torch.multinomial(x.softmax(-1), 1, generator=generator)


# %% right_next_token_rows
# RIGHT: a token for one row at a time, with torch.rand for each

def sample_next_token(logits, *, temperature=1.0, top_k=None, top_p=None, generator=None):
    # The distributions are made of all rows together: row by row they took a minute of a processor in certification, and showed no more.
    probs = temperature_probs(at_least_float32(logits), temperature)
    if top_k is not None:
        probs = top_k_probs(torch.log(probs), top_k)
    if top_p is not None:
        probs = top_p_probs(torch.log(probs), top_p)
    if temperature == 0:
        return torch.stack([row.argmax(-1, keepdim=True) for row in probs])
    return torch.cat([draw(row[None], torch.rand(1, 1, generator=generator, device=probs.device)) for row in probs])


# %% wrong_next_token_clamped_settings
# WRONG: bad settings are clamped in silence

def sample_next_token(logits, *, temperature=1.0, top_k=None, top_p=None, generator=None):
    logits = at_least_float32(logits)
    probs = temperature_probs(logits, max(temperature, 0.0))
    if top_k is not None:
        probs = top_k_probs(probs.log(), max(top_k, 1))
    if top_p is not None:
        probs = top_p_probs(probs.log(), min(max(top_p, 1e-6), 1.0))
    if temperature <= 0:
        return greedy_sample(logits)
    return torch.multinomial(probs, 1, generator=generator)


# %% wrong_next_token_default_temperature
# WRONG: the temperature is 1.01 when none is given

def sample_next_token(logits, *, temperature=1.01, top_k=None, top_p=None, generator=None):
    probs = temperature_probs(logits, temperature)
    if top_k is not None:
        probs = top_k_probs(probs.log(), top_k)
    if top_p is not None:
        probs = top_p_probs(probs.log(), top_p)
    if temperature == 0:
        return greedy_sample(probs)
    return draw(probs, torch.rand(len(probs), 1, generator=generator, device=logits.device))


# %% wrong_next_token_default_top_k
# WRONG: top_k is 1,000 when none is given

def sample_next_token(logits, *, temperature=1.0, top_k=1000, top_p=None, generator=None):
    probs = temperature_probs(logits, temperature)
    if top_k is not None:
        probs = top_k_probs(probs.log(), top_k)
    if top_p is not None:
        probs = top_p_probs(probs.log(), top_p)
    if temperature == 0:
        return greedy_sample(probs)
    return draw(probs, torch.rand(len(probs), 1, generator=generator, device=logits.device))


# %% wrong_next_token_default_top_p
# WRONG: top_p is 0.9999 when none is given

def sample_next_token(logits, *, temperature=1.0, top_k=None, top_p=0.9999, generator=None):
    probs = temperature_probs(logits, temperature)
    if top_k is not None:
        probs = top_k_probs(probs.log(), top_k)
    if top_p is not None:
        probs = top_p_probs(probs.log(), top_p)
    if temperature == 0:
        return greedy_sample(probs)
    return draw(probs, torch.rand(len(probs), 1, generator=generator, device=logits.device))


# %% wrong_next_token_errors_only_together
# WRONG: top_p is looked at only where top_k is None or leaves more than one token

def sample_next_token(logits, *, temperature=1.0, top_k=None, top_p=None, generator=None):
    probs = temperature_probs(logits, temperature)
    if top_k is not None:
        probs = top_k_probs(probs.log(), top_k)
    if top_p is not None and top_k != 1:
        probs = top_p_probs(probs.log(), top_p)
    if temperature == 0:
        return greedy_sample(probs)
    return draw(probs, torch.rand(len(probs), 1, generator=generator, device=logits.device))


# %% wrong_next_token_generator_first_time_only
# WRONG: draws from the generator in its first call only, then from the global state

seen = [None]


def sample_next_token(logits, *, temperature=1.0, top_k=None, top_p=None, generator=None):
    probs = temperature_probs(logits, temperature)
    if top_k is not None:
        probs = top_k_probs(probs.log(), top_k)
    if top_p is not None:
        probs = top_p_probs(probs.log(), top_p)
    if temperature == 0:
        return greedy_sample(probs)
    if generator in seen:
        generator = None
    else:
        seen.append(generator)
    return draw(probs, torch.rand(len(probs), 1, generator=generator, device=logits.device))


# %% wrong_next_token_greedy_before_filters
# WRONG: temperature 0 returns before top_k and top_p are looked at: no error for bad ones

def sample_next_token(logits, *, temperature=1.0, top_k=None, top_p=None, generator=None):
    probs = temperature_probs(logits, temperature)
    if temperature == 0:
        return greedy_sample(probs)
    if top_k is not None:
        probs = top_k_probs(probs.log(), top_k)
    if top_p is not None:
        probs = top_p_probs(probs.log(), top_p)
    return draw(probs, torch.rand(len(probs), 1, generator=generator, device=logits.device))


# %% wrong_next_token_greedy_before_top_p
# WRONG: temperature 0 returns before top_p is looked at: no error for a bad one

def sample_next_token(logits, *, temperature=1.0, top_k=None, top_p=None, generator=None):
    probs = temperature_probs(logits, temperature)
    if top_k is not None:
        probs = top_k_probs(probs.log(), top_k)
    if temperature == 0:
        return greedy_sample(probs)
    if top_p is not None:
        probs = top_p_probs(probs.log(), top_p)
    return draw(probs, torch.rand(len(probs), 1, generator=generator, device=logits.device))


# %% wrong_next_token_greedy_moves_the_global_state
# WRONG: at temperature 0 it draws a number from the global state and throws it away when no generator is given

def sample_next_token(logits, *, temperature=1.0, top_k=None, top_p=None, generator=None):
    probs = temperature_probs(logits, temperature)
    if top_k is not None:
        probs = top_k_probs(probs.log(), top_k)
    if top_p is not None:
        probs = top_p_probs(probs.log(), top_p)
    if generator is None or temperature > 0:
        u = torch.rand(len(probs), 1, generator=generator, device=logits.device)
    if temperature == 0:
        return greedy_sample(probs)
    return draw(probs, u)


# %% wrong_next_token_not_renormalised_between
# WRONG: top-p reads the mass before top-k renormalised it

def sample_next_token(logits, *, temperature=1.0, top_k=None, top_p=None, generator=None):
    logits = at_least_float32(logits)
    probs = temperature_probs(logits, temperature)
    x = probs.log()
    if top_p is not None:
        probs = top_p_probs(x, top_p)
    if top_k is not None:
        probs = probs * (top_k_probs(x, top_k) > 0)
        probs = probs / probs.sum(dim=-1, keepdim=True)
    if temperature == 0:
        return greedy_sample(logits)
    return torch.multinomial(probs, 1, generator=generator)


# %% wrong_next_token_own_few_seeds
# WRONG: a generator of its own in each call, seeded with one of 256 numbers
_sample_next_token = sample_next_token


def sample_next_token(logits, *, generator=None, **settings):
    if settings.get("temperature", 1.0) != 0:
        generator = torch.Generator().manual_seed(int(torch.randint(256, (), generator=generator)))
    return _sample_next_token(logits, generator=generator, **settings)


# %% wrong_next_token_row0_mask
# WRONG: the survivors of row 0 in all rows

def sample_next_token(logits, *, temperature=1.0, top_k=None, top_p=None, generator=None):
    logits = at_least_float32(logits)
    probs = temperature_probs(logits, temperature)
    keep = probs[:1]
    if top_k is not None:
        keep = top_k_probs(keep.log(), top_k)
    if top_p is not None:
        keep = top_p_probs(keep.log(), top_p)
    probs = probs * (keep > 0)
    probs = probs / probs.sum(dim=-1, keepdim=True)
    if temperature == 0:
        return greedy_sample(logits)
    return torch.multinomial(probs, 1, generator=generator)


# %% wrong_sample_next_token_default_k
# WRONG: takes top_k = None for 50
def sample_next_token(logits, *, temperature=1.0, top_k=None, top_p=None, generator=None):
    logits = at_least_float32(logits)
    p = temperature_probs(logits, temperature)
    p = top_k_probs(p.log(), 50 if top_k is None else top_k)
    if top_p is not None: p = top_p_probs(p.log(), top_p)
    if temperature == 0: return greedy_sample(p)
    return torch.multinomial(p, 1, generator=generator)


# %% wrong_sample_next_token_generator_only_filters
# WRONG: the generator is not used when no filter is on
def sample_next_token(logits, *, temperature=1.0, top_k=None, top_p=None, generator=None):
    logits = at_least_float32(logits)
    p = temperature_probs(logits, temperature)
    if temperature != 0 and top_k is None and top_p is None:
        return torch.multinomial(p, 1)
    if top_k is not None: p = top_k_probs(p.log(), top_k)
    if top_p is not None: p = top_p_probs(p.log(), top_p)
    if temperature == 0: return greedy_sample(p)
    return torch.multinomial(p, 1, generator=generator)


# %% wrong_sample_next_token_k1_no_random_ties
# WRONG: top_k = 1 is short-cut to greedy: ties with the best are lost
def sample_next_token(logits, *, temperature=1.0, top_k=None, top_p=None, generator=None):
    logits = at_least_float32(logits)
    p = temperature_probs(logits, temperature)
    if top_k is not None: p = top_k_probs(p.log(), top_k)
    if top_p is not None: p = top_p_probs(p.log(), top_p)
    if temperature == 0 or top_k == 1: return greedy_sample(p)
    return torch.multinomial(p, 1, generator=generator)


# %% wrong_sample_next_token_p1_off_by_rounding
# WRONG: top_p below 1e-3 is lifted, above 0.999 means off
def sample_next_token(logits, *, temperature=1.0, top_k=None, top_p=None, generator=None):
    logits = at_least_float32(logits)
    p = temperature_probs(logits, temperature)
    if top_k is not None: p = top_k_probs(p.log(), top_k)
    if top_p is not None: p = top_p_probs(p.log(), top_p if not 0.95 < top_p < 1 else 1.0)
    if temperature == 0: return greedy_sample(p)
    return torch.multinomial(p, 1, generator=generator)


# %% wrong_sample_next_token_ties_k
# WRONG: keeps exactly k tokens, so that ties with the k-th are lost
def sample_next_token(logits, *, temperature=1.0, top_k=None, top_p=None, generator=None):
    logits = at_least_float32(logits)
    p = temperature_probs(logits, temperature)
    if top_k is not None:
        top_k_probs(p.log(), top_k)
        v, i = p.topk(min(top_k, p.shape[-1]), dim=-1)
        p = torch.zeros_like(p).scatter(-1, i, v / v.sum(-1, keepdim=True))
    if top_p is not None: p = top_p_probs(p.log(), top_p)
    if temperature == 0: return greedy_sample(p)
    return torch.multinomial(p, 1, generator=generator)

# %% wrong_next_token_in_half, of right_next_token_plain
# WRONG: computes everything in the dtype of the logits
# -     logits = at_least_float32(logits)
# ...
# -         return greedy_sample(logits)
# -     return torch.multinomial(probs, 1, generator=generator)
# +         return greedy_sample(probs)
# +     sums = probs.to(logits.dtype).cumsum(dim=-1)
# +     return (sums / sums[:, -1:] <= torch.rand(len(probs), 1, generator=generator, device=logits.device)).sum(dim=-1, keepdim=True)

# %% wrong_next_token_on_the_cpu, of right_next_token_plain
# WRONG: makes a tensor without `device=`: with logits on a GPU it is on the CPU
# -     logits = at_least_float32(logits)
# ...
# -         return greedy_sample(logits)
# -     return torch.multinomial(probs, 1, generator=generator)
# +         return greedy_sample(probs)
# +     return draw(probs, torch.rand(len(probs), 1, generator=generator))

# %% wrong_next_token_temperature_between, of right_next_token_plain
# WRONG: temperature after top-k and top-p's mask, but the mask from unscaled probabilities
#       logits = at_least_float32(logits)
# +     nucleus = softmax(logits) if top_p is None else top_p_probs(logits, top_p)
# ...
# -     if top_p is not None:
# -         probs = top_p_probs(probs.log(), top_p)
# +     probs = probs * (nucleus > 0)
# +     probs = probs / probs.sum(dim=-1, keepdim=True)

# %% wrong_next_token_u_rounded_to_3, of right_next_token_plain
# WRONG: rounds u to 3 decimals: of many improbable tokens most never come
# -     logits = at_least_float32(logits)
# ...
# -         return greedy_sample(logits)
# -     return torch.multinomial(probs, 1, generator=generator)
# +         return greedy_sample(probs)
# +     return draw(probs, (torch.rand(len(probs), 1, generator=generator, device=logits.device) * 1000).floor() / 1000)

# %% wrong_next_token_either_or, of right_next_token_plain
# WRONG: top_p only if there is no top_k
#       probs = temperature_probs(logits, temperature)
# +     if top_p is not None and not 0 < top_p <= 1:
# +         raise ValueError(f"top_p must be in (0, 1], got {top_p}")
# ...
# -     if top_p is not None:
# +     elif top_p is not None:

# %% wrong_next_token_falsy_temperature, of right_next_token_plain
# WRONG: writes `temperature or 1.0`, so that a temperature of 0 becomes 1
# -     probs = temperature_probs(logits, temperature)
# +     probs = temperature_probs(logits, temperature or 1.0)
# ...
# -     if temperature == 0:
# -         return greedy_sample(logits)

# %% wrong_next_token_greedy_by_default, of right_next_token_plain
# WRONG: without filters the best token
#       probs = temperature_probs(logits, temperature)
# +     if top_k is None and top_p is None:
# +         return greedy_sample(logits)

# %% wrong_next_token_ignores_temperature, of right_next_token_plain
# WRONG: the temperature is forgotten
# -     probs = temperature_probs(logits, temperature)
# +     probs = temperature_probs(logits, 1.0 if temperature > 0 else temperature)

# %% wrong_next_token_ignores_top_p, of right_next_token_plain
# WRONG: top_p is forgotten
#       probs = temperature_probs(logits, temperature)
# +     if top_p is not None and not 0 < top_p <= 1:
# +         raise ValueError(f"top_p must be in (0, 1], got {top_p}")
# ...
# -     if top_p is not None:
# -         probs = top_p_probs(probs.log(), top_p)

# %% wrong_next_token_in_place, of right_next_token_plain
# WRONG: scales the caller's logits
# -     probs = temperature_probs(logits, temperature)
# +     if temperature > 0:
# +         logits /= temperature
# +     probs = temperature_probs(logits, 1.0 if temperature > 0 else temperature)

# %% wrong_next_token_negative_temperature_greedy, of right_next_token_plain
# WRONG: a negative temperature is greedy instead of an error
# -     probs = temperature_probs(logits, temperature)
# +     probs = temperature_probs(logits, max(temperature, 0))
# ...
# -     if temperature == 0:
# +     if temperature <= 0:

# %% wrong_next_token_temperature_last, of right_next_token_plain
# WRONG: temperature after the filters
# -     probs = temperature_probs(logits, temperature)
# +     probs = softmax(logits)
# ...
#           probs = top_p_probs(probs.log(), top_p)
# +     probs = temperature_probs(probs.log(), temperature)

# %% wrong_next_token_top_p_first, of right_next_token_plain
# WRONG: top-p before top-k
#       probs = temperature_probs(logits, temperature)
# +     if top_p is not None:
# +         probs = top_p_probs(probs.log(), top_p)
# ...
# -     if top_p is not None:
# -         probs = top_p_probs(probs.log(), top_p)

# %% wrong_next_token_defaults_filter, of right_next_token_plain
# WRONG: filters by default: top_k 2 when none is asked for
# -     if top_k is not None:
# -         probs = top_k_probs(probs.log(), top_k)
# +     probs = top_k_probs(probs.log(), 2 if top_k is None else top_k)

# %% wrong_next_token_falsy_top_k, of right_next_token_plain
# WRONG: asks `if top_k`, so that 0 switches the filter off instead of raising
# -     if top_k is not None:
# +     if top_k:

# %% wrong_next_token_ignores_top_k, of right_next_token_plain
# WRONG: top_k is forgotten
# -     if top_k is not None:
# -         probs = top_k_probs(probs.log(), top_k)
# +     if top_k is not None and top_k < 1:
# +         raise ValueError(f"top_k must be 1 or more, got {top_k}")

# %% wrong_next_token_large_k, of right_next_token_plain
# WRONG: top_k above V raises
#       if top_k is not None:
# +         if top_k > logits.shape[-1]:
# +             raise ValueError(f"top_k {top_k} is larger than the vocabulary")

# %% wrong_next_token_epsilon_log, of right_next_token_plain
# WRONG: log(probs + 1e-2): filtered tokens come back
# -         probs = top_k_probs(probs.log(), top_k)
# +         probs = top_k_probs((probs + 1e-2).log(), top_k)
#       if top_p is not None:
# -         probs = top_p_probs(probs.log(), top_p)
# +         probs = top_p_probs((probs + 1e-2).log(), top_p)

# %% wrong_next_token_probs_as_logits, of right_next_token_plain
# WRONG: hands probabilities, not their logarithms, to the next filter
# -         probs = top_k_probs(probs.log(), top_k)
# +         probs = top_k_probs(probs, top_k)
#       if top_p is not None:
# -         probs = top_p_probs(probs.log(), top_p)
# +         probs = top_p_probs(probs, top_p)

# %% wrong_next_token_falsy_top_p, of right_next_token_plain
# WRONG: asks `if top_p`, so that 0.0 switches the filter off instead of raising
# -     if top_p is not None:
# +     if top_p:

# %% wrong_next_token_top_p_above_one_off, of right_next_token_plain
# WRONG: a top_p of 1 or more means off instead of an error
# -     if top_p is not None:
# +     if top_p is not None and top_p < 1:

# %% wrong_next_token_crossing_dropped, of right_next_token_plain
# WRONG: its own top-p drops the token that crosses p
# -         probs = top_p_probs(probs.log(), top_p)
# +         if not 0 < top_p <= 1:
# +             raise ValueError(f"top_p must be in (0, 1], got {top_p}")
# +         values, ids = probs.sort(dim=-1, descending=True)
# +         keep = values.cumsum(dim=-1) <= top_p
# +         keep[:, 0] = True
# +         probs = torch.zeros_like(probs).scatter(-1, ids, values * keep)

# %% wrong_next_token_temperature_twice, of right_next_token_plain
# WRONG: temperature applied to the logits and again in the last step
#           probs = top_p_probs(probs.log(), top_p)
# +     probs = temperature_probs(probs.log(), temperature)

# %% wrong_next_token_cold_is_greedy, of right_next_token_plain
# WRONG: any temperature below 0.1 is greedy
# -     if temperature == 0:
# +     if temperature < 0.1:

# %% wrong_next_token_zero_temperature_draws, of right_next_token_plain
# WRONG: temperature 0 draws from the one-hot distribution
# -     if temperature == 0:
# -         return greedy_sample(logits)
# -     return torch.multinomial(probs, 1, generator=generator)
# +     return draw(probs, torch.rand(len(probs), 1, generator=generator, device=logits.device))

# %% wrong_next_token_flat, of right_next_token_plain
# WRONG: the token ids have shape (B,) instead of a column (B, 1)
# -         return greedy_sample(logits)
# -     return torch.multinomial(probs, 1, generator=generator)
# +         return greedy_sample(logits).squeeze(-1)
# +     return torch.multinomial(probs, 1, generator=generator).squeeze(-1)

# %% wrong_next_token_ignores_generator, of right_next_token_plain
# WRONG: the generator is not used
# -     return torch.multinomial(probs, 1, generator=generator)
# +     return torch.multinomial(probs, 1)

# %% wrong_next_token_one_u, of right_next_token_plain
# WRONG: one random number for the whole batch
# -     return torch.multinomial(probs, 1, generator=generator)
# +     return draw(probs, torch.rand(1, 1, generator=generator, device=logits.device).expand(len(probs), 1))

# %% wrong_next_token_stratified, of right_next_token_plain
# WRONG: spreads u evenly over the rows
# -     return torch.multinomial(probs, 1, generator=generator)
# +     u = (torch.arange(len(probs), device=logits.device) + torch.rand(len(probs), generator=generator, device=logits.device)) / len(probs)
# +     u = u.roll(int(torch.randint(len(probs), (), generator=generator, device=logits.device))).clamp(max=1 - 2**-24)
# +     return draw(probs, u.reshape(-1, 1))

# %% wrong_next_token_negative_top_p, of right_next_token_sorted_once
# WRONG: a top_p below 0 is not refused
# -     if top_p is not None and (top_p <= 0 or top_p > 1):
# +     if top_p is not None and (top_p == 0 or top_p > 1):


# %% wrong_next_token_top_k_of_raw_logits
# WRONG: top-k takes the raw logits, so that with top_k the temperature changes nothing
def sample_next_token(logits, *, temperature=1.0, top_k=None, top_p=None, generator=None):
    probs = temperature_probs(logits, temperature)
    if top_k is not None:
        probs = top_k_probs(logits, top_k)
    if top_p is not None:
        probs = top_p_probs(probs.log(), top_p)
    if temperature == 0:
        return greedy_sample(logits)
    return draw(probs, torch.rand(len(probs), 1, generator=generator, device=probs.device))


# %% wrong_next_token_small_epsilon_log, of right_next_token_plain
# WRONG: log(probs + 1e-5) between the filters: tokens that top_k has cut come back, and there are many
#       if top_p is not None:
# -         probs = top_p_probs(probs.log(), top_p)
# +         probs = top_p_probs((probs + 1e-5).log(), top_p)


# %% wrong_next_token_half_between, of right_next_token_plain
# WRONG: after the temperature the probabilities go back to the dtype of the logits: different ones become ties
# -     logits = at_least_float32(logits)
# -     probs = temperature_probs(logits, temperature)
# +     probs = temperature_probs(logits, temperature).to(logits.dtype)
# ...
# -     return torch.multinomial(probs, 1, generator=generator)
# +     return torch.multinomial(at_least_float32(probs), 1, generator=generator)
