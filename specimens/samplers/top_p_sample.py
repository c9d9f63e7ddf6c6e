# Versions of top_p_sample, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_top_p_sample_multinomial
# RIGHT: torch.multinomial

def top_p_sample(logits, p, generator=None):
    logits = at_least_float32(logits)
    probs = top_p_probs(logits, p)
    return torch.multinomial(probs, 1, generator=generator)


# %% right_top_p_sample_numpy
# RIGHT: numpy draws, seeded from the generator

import numpy as np


def top_p_sample(logits, p, generator=None):
    logits = at_least_float32(logits)
    probs = top_p_probs(logits, p)
    seed = int(torch.randint(2**62, (), generator=generator, device=logits.device))
    u = np.random.default_rng(seed).random((len(probs), 1))
    sums = np.cumsum(probs.double().numpy(), axis=1)
    return torch.from_numpy((sums / sums[:, -1:] <= u).sum(axis=1, keepdims=True)).long()


# %% right_top_p_sample_exponential
# RIGHT: a race of exponential clocks

def top_p_sample(logits, p, generator=None):
    logits = at_least_float32(logits)
    probs = top_p_probs(logits, p)
    clocks = torch.empty(probs.shape, dtype=torch.float64, device=logits.device).exponential_(generator=generator)
    return (clocks / probs.double()).argmin(dim=-1).unsqueeze(-1)


# %% right_top_p_sample_gumbel
# RIGHT: Gumbel noise and argmax

def top_p_sample(logits, p, generator=None):
    logits = at_least_float32(logits)
    probs = top_p_probs(logits, p)
    noise = torch.rand(probs.shape, generator=generator, dtype=torch.float64, device=logits.device).clamp(min=1e-300)
    return (probs.double().log() - (-noise.log()).log()).argmax(dim=-1, keepdim=True)


# %% right_top_p_sample_one_by_one
# RIGHT: one row after another, each with its own random number

def top_p_sample(logits, p, generator=None):
    logits = at_least_float32(logits)
    probs = top_p_probs(logits, p)
    numbers = torch.rand(len(probs), generator=generator, device=logits.device)
    return torch.cat([draw(row[None], u.reshape(1, 1)) for row, u in zip(probs, numbers)])


# %% right_top_p_sample_via_next_token
# RIGHT: one call of sample_next_token

def top_p_sample(logits, p, generator=None):
    logits = at_least_float32(logits)
    return sample_next_token(logits, top_p=p, generator=generator)


# %% wrong_top_p_sample_drops_crossing
# WRONG: its own filter drops the token that crosses p

def top_p_sample(logits, p, generator=None):
    logits = at_least_float32(logits)
    if not 0 < p <= 1:
        raise ValueError(f"top_p must be in (0, 1], got {p}")
    values, ids = softmax(logits).sort(dim=-1, descending=True)
    values = values * ((values.cumsum(dim=-1) <= p) | (torch.arange(values.shape[-1], device=logits.device) == 0))
    return ids.gather(-1, torch.multinomial(values, 1, generator=generator))


# %% wrong_top_p_sample_in_half
# WRONG: rounds the probabilities to the dtype of the logits before it draws, and sums them in it

def top_p_sample(logits, p, generator=None):
    probs = top_p_probs(logits, p).to(logits.dtype)
    sums = probs.cumsum(dim=-1)
    u = torch.rand(len(probs), 1, generator=generator, device=logits.device)
    return (sums / sums[:, -1:] <= u).sum(dim=-1, keepdim=True)


# %% wrong_top_p_sample_u_on_the_cpu
# WRONG: the random numbers are made on the CPU, wherever the logits are
def top_p_sample(logits, p, generator=None):
    probs = top_p_probs(logits, p)
    return draw(probs, torch.rand(len(probs), 1, generator=generator))


# %% wrong_top_p_sample_u_rounded_to_2
# WRONG: rounds u to 2 decimals: of many improbable tokens most never come

def top_p_sample(logits, p, generator=None):
    probs = top_p_probs(logits, p)
    u = torch.rand(len(probs), 1, generator=generator, device=logits.device)
    return draw(probs, (u * 100).floor() / 100)


# %% wrong_top_p_sample_u_rounded_to_3
# WRONG: rounds u to 3 decimals: of many improbable tokens most never come

def top_p_sample(logits, p, generator=None):
    probs = top_p_probs(logits, p)
    u = torch.rand(len(probs), 1, generator=generator, device=logits.device)
    return draw(probs, (u * 1000).floor() / 1000)

# %% wrong_top_p_sample_advances_twice, of right_top_p_sample_multinomial
# WRONG: also moves the global state
#       probs = top_p_probs(logits, p)
# +     torch.rand((), device=logits.device)

# %% wrong_top_p_sample_bad_p, of right_top_p_sample_multinomial
# WRONG: p outside (0, 1] switches the filter off
# -     probs = top_p_probs(logits, p)
# +     probs = top_p_probs(logits, p) if 0 < p <= 1 else softmax(logits)

# %% wrong_top_p_sample_in_place, of right_top_p_sample_multinomial
# WRONG: writes -inf into the caller's logits
#       probs = top_p_probs(logits, p)
# +     logits[probs == 0] = float("-inf")

# %% wrong_top_p_sample_initial_seed, of right_top_p_sample_multinomial
# WRONG: copies the generator, which therefore never moves on
#       probs = top_p_probs(logits, p)
# +     if generator is not None:
# +         generator = torch.Generator().manual_seed(generator.initial_seed())

# %% wrong_top_p_sample_rank, of right_top_p_sample_multinomial
# WRONG: returns the rank of the token, not its id
# -     probs = top_p_probs(logits, p)
# +     probs = top_p_probs(logits, p).sort(dim=-1, descending=True).values

# %% wrong_top_p_sample_seeded_when_none, of right_top_p_sample_multinomial
# WRONG: without a generator always the same tokens
#       probs = top_p_probs(logits, p)
# +     generator = generator or torch.Generator().manual_seed(1234)

# %% wrong_top_p_sample_argmax, of right_top_p_sample_multinomial
# WRONG: takes the best token instead of drawing
# -     return torch.multinomial(probs, 1, generator=generator)
# +     return probs.argmax(dim=-1, keepdim=True)

# %% wrong_top_p_sample_first_row, of right_top_p_sample_multinomial
# WRONG: draws every row from the first row's distribution
# -     return torch.multinomial(probs, 1, generator=generator)
# +     return torch.multinomial(probs[:1].expand_as(probs).contiguous(), 1, generator=generator)

# %% wrong_top_p_sample_fixed_seed, of right_top_p_sample_multinomial
# WRONG: a seed of its own in every call
# -     return torch.multinomial(probs, 1, generator=generator)
# +     return torch.multinomial(probs, 1, generator=torch.Generator().manual_seed(0))

# %% wrong_top_p_sample_flat, of right_top_p_sample_multinomial
# WRONG: the token ids have shape (B,) instead of a column (B, 1)
# -     return torch.multinomial(probs, 1, generator=generator)
# +     return torch.multinomial(probs, 1, generator=generator).squeeze(-1)

# %% wrong_top_p_sample_ignores_generator, of right_top_p_sample_multinomial
# WRONG: draws from the global state although a generator is given
# -     return torch.multinomial(probs, 1, generator=generator)
# +     return torch.multinomial(probs, 1)

# %% wrong_top_p_sample_ignores_setting, of right_top_p_sample_multinomial
# WRONG: draws from the plain softmax
# -     return torch.multinomial(probs, 1, generator=generator)
# +     return torch.multinomial(softmax(logits), 1, generator=generator)

# %% wrong_top_p_sample_normal_u, of right_top_p_sample_multinomial
# WRONG: u from a folded normal distribution
# -     return torch.multinomial(probs, 1, generator=generator)
# +     u = torch.randn(len(probs), 1, generator=generator, device=logits.device).abs().clamp(max=1 - 2**-24)
# +     return draw(probs, u)

# %% wrong_top_p_sample_one_u, of right_top_p_sample_multinomial
# WRONG: one random number for the whole batch
# -     return torch.multinomial(probs, 1, generator=generator)
# +     u = torch.rand(1, 1, generator=generator, device=logits.device).expand(len(probs), 1)
# +     return draw(probs, u)

# %% wrong_top_p_sample_probs_as_logits, of right_top_p_sample_multinomial
# WRONG: applies softmax once more to the probabilities
# -     return torch.multinomial(probs, 1, generator=generator)
# +     return torch.multinomial(softmax(probs), 1, generator=generator)

# %% wrong_top_p_sample_reseeds, of right_top_p_sample_multinomial
# WRONG: seeds the global state from the generator
# -     return torch.multinomial(probs, 1, generator=generator)
# +     if generator is not None:
# +         torch.manual_seed(int(torch.randint(2**31, (), generator=generator, device=logits.device)))
# +     return torch.multinomial(probs, 1)

# %% wrong_top_p_sample_stratified, of right_top_p_sample_multinomial
# WRONG: spreads u evenly over the rows: neighbours depend on each other
# -     return torch.multinomial(probs, 1, generator=generator)
# +     u = (torch.arange(len(probs), device=logits.device) + torch.rand(len(probs), generator=generator, device=logits.device)) / len(probs)
# +     start = torch.randint(len(probs), (), generator=generator, device=logits.device)
# +     return draw(probs, u.roll(int(start)).clamp(max=1 - 2**-24).reshape(-1, 1))

# %% wrong_top_p_sample_uniform, of right_top_p_sample_multinomial
# WRONG: draws the survivors with equal chances
# -     return torch.multinomial(probs, 1, generator=generator)
# +     return torch.multinomial((probs > 1e-6).float(), 1, generator=generator)

# %% wrong_top_p_sample_numpy_few_seeds, of right_top_p_sample_numpy
# WRONG: numpy draws, seeded again in each call with one of 62 numbers
# -     logits = at_least_float32(logits)
#       probs = top_p_probs(logits, p)
# -     seed = int(torch.randint(2**62, (), generator=generator, device=logits.device))
# +     seed = int(torch.randint(62, (), generator=generator))

# %% wrong_top_p_sample_some_thousand_seeds, of right_top_p_sample_numpy
# WRONG: numpy draws, seeded with one of 4,000 numbers
# -     seed = int(torch.randint(2**62, (), generator=generator, device=logits.device))
# +     seed = int(torch.randint(4000, (), generator=generator, device=logits.device))
