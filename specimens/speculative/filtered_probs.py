# Versions of filtered_probs, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_filtered_plain
# RIGHT: step by step; most of the wrong versions are edits of it

def filtered_probs(logits, *, temperature=1.0, top_k=None, top_p=None):
    probs = temperature_probs(logits, temperature)
    if top_k is not None:
        probs = top_k_probs(probs.log(), top_k)
    if top_p is not None:
        probs = top_p_probs(probs.log(), top_p)
    return probs


# %% right_filtered_by_masks
# RIGHT: everything by hand, from sorted logits

def filtered_probs(logits, *, temperature=1.0, top_k=None, top_p=None):
    if temperature < 0:
        raise ValueError(f"temperature is {temperature}")
    if top_k is not None and top_k < 1:
        raise ValueError(f"top_k is {top_k}")
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError(f"top_p is {top_p}")
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    if temperature == 0:
        probs = torch.zeros_like(logits)
        probs[torch.arange(len(logits)), logits.argmax(dim=1)] = 1
        return probs
    probs = torch.softmax(logits / temperature, dim=1)
    if top_k is not None and top_k < probs.shape[1]:
        probs = probs * (probs >= probs.topk(top_k, dim=1).values[:, -1:])
        probs = probs / probs.sum(dim=1, keepdim=True)
    if top_p is not None and top_p < 1:
        ordered, places = probs.sort(dim=1, descending=True)
        ordered = ordered * (ordered.cumsum(dim=1) - ordered < top_p)
        probs = torch.zeros_like(probs).scatter(1, places, ordered)
        probs = probs / probs.sum(dim=1, keepdim=True)
    return probs


# %% right_filtered_row_by_row
# RIGHT: one row after the other

def filtered_probs(logits, *, temperature=1.0, top_k=None, top_p=None):
    rows = []
    for row in logits.split(1):
        law = temperature_probs(row, temperature)
        for setting, sampler in ((top_k, top_k_probs), (top_p, top_p_probs)):
            if setting is not None:
                law = sampler(law.log(), setting)
        rows.append(law)
    return torch.cat(rows)


# %% wrong_filtered_top_p_first, of right_filtered_plain
# WRONG: top-p works on all tokens, and top-k on what it left
# -     if top_k is not None:
# -         probs = top_k_probs(probs.log(), top_k)
# -     if top_p is not None:
# -         probs = top_p_probs(probs.log(), top_p)
# +     if top_p is not None:
# +         probs = top_p_probs(probs.log(), top_p)
# +     if top_k is not None:
# +         probs = top_k_probs(probs.log(), top_k)

# %% wrong_filtered_without_temperature, of right_filtered_plain
# WRONG: the filters begin from the logits again: the temperature is lost
# -         probs = top_k_probs(probs.log(), top_k)
# +         probs = top_k_probs(logits, top_k)

# %% wrong_filtered_one_or_the_other, of right_filtered_plain
# WRONG: with top_k set, top_p is passed over
# -     if top_p is not None:
# +     elif top_p is not None:

# %% wrong_filtered_probs_as_logits, of right_filtered_plain
# WRONG: probabilities are given to top_k_probs where it wants logits
# -         probs = top_k_probs(probs.log(), top_k)
# +         probs = top_k_probs(probs, top_k)

# %% wrong_filtered_greedy_returns_early, of right_filtered_plain
# WRONG: at temperature 0 the other settings are not looked at: what the samplers refuse passes
# - def filtered_probs(logits, *, temperature=1.0, top_k=None, top_p=None):
# + def filtered_probs(logits, *, temperature=1.0, top_k=None, top_p=None):
# +     if temperature == 0:
# +         return temperature_probs(logits, 0)

# %% wrong_filtered_greedy_is_softmax, of right_filtered_plain
# WRONG: at temperature 0 the law is softmax
# -     probs = temperature_probs(logits, temperature)
# +     probs = temperature_probs(logits, temperature or 1.0)

# %% wrong_filtered_not_renormalised
# WRONG: what top-k leaves is not renormalised
def filtered_probs(logits, *, temperature=1.0, top_k=None, top_p=None):
    probs = temperature_probs(logits, temperature)
    if top_k is not None:
        probs = torch.where(top_k_probs(probs.log(), top_k) > 0, probs, 0.0)
    if top_p is not None:
        probs = top_p_probs(probs.log(), top_p)
    return probs


# %% wrong_filtered_zero_is_off, of right_filtered_plain
# WRONG: a filter set to 0 counts as switched off
# -     if top_k is not None:
# +     if top_k:

# %% wrong_filtered_last_row, of right_filtered_plain
# WRONG: the first row's distribution is in every row
# -     return probs
# +     return probs[:1].expand_as(probs).contiguous()

# %% wrong_filtered_always_float32, of right_filtered_plain
# WRONG: float64 is rounded to float32
# -     probs = temperature_probs(logits, temperature)
# +     probs = temperature_probs(logits.float(), temperature)

# %% wrong_filtered_ties_share, of right_filtered_plain
# WRONG: at temperature 0 the tokens that are best share the probability
# -     return probs
# +     if temperature == 0:
# +         probs = (logits == logits.amax(dim=-1, keepdim=True)).to(probs.dtype)
# +         return probs / probs.sum(dim=-1, keepdim=True)
# +     return probs

# %% wrong_filtered_overflows, of right_filtered_plain
# WRONG: exp of the logits as they are: large ones overflow
# -     probs = temperature_probs(logits, temperature)
# +     probs = temperature_probs(logits, temperature)
# +     if temperature > 0:
# +         probs = (logits.to(probs.dtype) / temperature).exp()
# +         probs = probs / probs.sum(dim=-1, keepdim=True)

# %% wrong_filtered_in_half, of right_filtered_plain
# WRONG: half precision is raised to float32 only after softmax
# -     probs = temperature_probs(logits, temperature)
# +     probs = temperature_probs(logits, temperature)
# +     if temperature > 0:
# +         probs = torch.softmax(logits / temperature, dim=-1).to(probs.dtype)


# %% wrong_filtered_default_top_k
# WRONG: top_k is 50 where none is named
def filtered_probs(logits: Tensor, *, temperature: float = 1.0, top_k: int | None = 50, top_p: float | None = None) -> Tensor:
    probs = temperature_probs(logits, temperature)
    if top_k is not None:
        probs = top_k_probs(probs.log(), top_k)  # the logarithms of probabilities are logits again
    if top_p is not None:
        probs = top_p_probs(probs.log(), top_p)
    return probs


# %% wrong_filtered_ties_cut
# WRONG: exactly k tokens stay where several share the k-th place
def filtered_probs(logits: Tensor, *, temperature: float = 1.0, top_k: int | None = None, top_p: float | None = None) -> Tensor:
    probs = temperature_probs(logits, temperature)
    if top_k is not None:
        if top_k < 1:
            raise ValueError(f'top_k must be 1 or more, got {top_k}')
        best = probs.topk(min(top_k, probs.shape[-1]), dim=-1)
        probs = torch.zeros_like(probs).scatter(-1, best.indices, best.values)
        probs = probs / probs.sum(dim=-1, keepdim=True)
    if top_p is not None:
        probs = top_p_probs(probs.log(), top_p)
    return probs


# %% wrong_filtered_small_is_greedy
# WRONG: a temperature below 0.1 is taken for 0
def filtered_probs(logits: Tensor, *, temperature: float = 1.0, top_k: int | None = None, top_p: float | None = None) -> Tensor:
    probs = temperature_probs(logits, temperature if temperature < 0 or temperature >= 0.1 else 0.0)
    if top_k is not None:
        probs = top_k_probs(probs.log(), top_k)  # the logarithms of probabilities are logits again
    if top_p is not None:
        probs = top_p_probs(probs.log(), top_p)
    return probs


# %% wrong_filtered_probs_to_both, of right_filtered_plain
# WRONG: both filters are given probabilities where they want logits
# -         probs = top_k_probs(probs.log(), top_k)
# +         probs = top_k_probs(probs, top_k)
# ...
# -         probs = top_p_probs(probs.log(), top_p)
# +         probs = top_p_probs(probs, top_p)


# %% wrong_filtered_64_rows, of right_filtered_plain
# WRONG: the first 64 rows are filtered, the others are not
# -     if top_p is not None:
# -         probs = top_p_probs(probs.log(), top_p)
# +     if top_p is not None:
# +         probs = torch.cat((top_p_probs(probs[:64].log(), top_p), probs[64:]))


# %% wrong_filtered_in_place, of right_filtered_plain
# WRONG: divides the caller's logits by the temperature
# -     probs = temperature_probs(logits, temperature)
# +     probs = temperature_probs(logits.div_(temperature), 1.0) if temperature > 0 else temperature_probs(logits, temperature)


# %% wrong_filtered_small_is_greedy_at_a_thousandth, of right_filtered_plain
# WRONG: a temperature below 0.001 is taken for 0
# -     probs = temperature_probs(logits, temperature)
# +     probs = temperature_probs(logits, 0.0 if 0 <= temperature < 1e-3 else temperature)


# %% wrong_filtered_top_k_of_50, of right_filtered_plain
# WRONG: a top_k above 50 keeps 50 tokens
# -         probs = top_k_probs(probs.log(), top_k)
# +         probs = top_k_probs(probs.log(), min(top_k, 50))


# %% wrong_filtered_divided_in_half, of right_filtered_plain
# WRONG: half precision is divided by the temperature before it is raised to float32
# -     probs = temperature_probs(logits, temperature)
# +     if temperature > 0:
# +         logits = logits / temperature
# +         temperature = 1.0
# +     probs = temperature_probs(logits, temperature)
