# Versions of temperature_sample, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_temperature_sample_multinomial
# RIGHT: torch.multinomial

def temperature_sample(logits, tau, generator=None):
    logits = at_least_float32(logits)
    if tau == 0:
        return greedy_sample(logits)
    probs = temperature_probs(logits, tau)
    return torch.multinomial(probs, 1, generator=generator)


# %% right_temperature_sample_via_next_token
# RIGHT: one call of sample_next_token

def temperature_sample(logits, tau, generator=None):
    logits = at_least_float32(logits)
    return sample_next_token(logits, temperature=tau, generator=generator)


# %% right_temperature_sample_numpy
# RIGHT: numpy draws, seeded from the generator

import numpy as np


def temperature_sample(logits, tau, generator=None):
    logits = at_least_float32(logits)
    if tau == 0:
        return greedy_sample(logits)
    probs = temperature_probs(logits, tau)
    seed = int(torch.randint(2**62, (), generator=generator, device=logits.device))
    u = np.random.default_rng(seed).random((len(probs), 1))
    sums = np.cumsum(probs.double().numpy(), axis=1)
    return torch.from_numpy((sums / sums[:, -1:] <= u).sum(axis=1, keepdims=True)).long()


# %% right_temperature_sample_exponential
# RIGHT: a race of exponential clocks

def temperature_sample(logits, tau, generator=None):
    logits = at_least_float32(logits)
    if tau == 0:
        return greedy_sample(logits)
    probs = temperature_probs(logits, tau)
    clocks = torch.empty(probs.shape, dtype=torch.float64, device=logits.device).exponential_(generator=generator)
    return (clocks / probs.double()).argmin(dim=-1).unsqueeze(-1)


# %% right_temperature_sample_gumbel
# RIGHT: Gumbel noise and argmax

def temperature_sample(logits, tau, generator=None):
    logits = at_least_float32(logits)
    if tau == 0:
        return greedy_sample(logits)
    probs = temperature_probs(logits, tau)
    noise = torch.rand(probs.shape, generator=generator, dtype=torch.float64, device=logits.device).clamp(min=1e-300)
    return (probs.double().log() - (-noise.log()).log()).argmax(dim=-1, keepdim=True)


# %% right_temperature_sample_one_by_one
# RIGHT: one row after another, each with its own random number

def temperature_sample(logits, tau, generator=None):
    logits = at_least_float32(logits)
    if tau == 0:
        return greedy_sample(logits)
    probs = temperature_probs(logits, tau)
    numbers = torch.rand(len(probs), generator=generator, device=logits.device)
    return torch.cat([draw(row[None], u.reshape(1, 1)) for row, u in zip(probs, numbers)])


# %% wrong_temperature_sample_in_half
# WRONG: rounds the probabilities to the dtype of the logits before it draws, and sums them in it

def temperature_sample(logits, tau, generator=None):
    if tau == 0:
        return greedy_sample(logits)
    probs = temperature_probs(logits, tau).to(logits.dtype)
    sums = probs.cumsum(dim=-1)
    u = torch.rand(len(probs), 1, generator=generator, device=logits.device)
    return (sums / sums[:, -1:] <= u).sum(dim=-1, keepdim=True)


# %% wrong_temperature_sample_in_place
# WRONG: divides the caller's logits

def temperature_sample(logits, tau, generator=None):
    logits = at_least_float32(logits)
    if tau < 0:
        raise ValueError(f"temperature must be 0 or more, got {tau}")
    if tau == 0:
        return greedy_sample(logits)
    return torch.multinomial(softmax(logits.div_(tau)), 1, generator=generator)


# %% wrong_temperature_sample_normal_noise
# WRONG: normal noise in place of Gumbel
def temperature_sample(logits, tau, generator=None):
    logits = at_least_float32(logits)
    if tau < 0: raise ValueError(f"tau {tau}")
    if tau == 0: return greedy_sample(logits)
    return (logits / tau + 1.28 * torch.randn(logits.shape, generator=generator, device=logits.device)).argmax(-1, keepdim=True)


# %% wrong_temperature_sample_own_few_seeds
# WRONG: a generator of its own in each call, seeded with one of 100 numbers
def temperature_sample(logits, tau, generator=None):
    if tau == 0:
        return greedy_sample(logits)
    own = torch.Generator().manual_seed(int(torch.randint(100, (), generator=generator)))
    return draw(temperature_probs(logits, tau), torch.rand(len(logits), 1, generator=own).to(logits.device))


# %% wrong_temperature_sample_u_on_the_cpu
# WRONG: the random numbers are made on the CPU, wherever the logits are
def temperature_sample(logits, tau, generator=None):
    if tau == 0:
        return greedy_sample(logits)
    probs = temperature_probs(logits, tau)
    return draw(probs, torch.rand(len(probs), 1, generator=generator))


# %% wrong_temperature_sample_u_rounded_to_2
# WRONG: rounds u to 2 decimals: of many improbable tokens most never come

def temperature_sample(logits, tau, generator=None):
    if tau == 0:
        return greedy_sample(logits)
    probs = temperature_probs(logits, tau)
    u = torch.rand(len(probs), 1, generator=generator, device=logits.device)
    return draw(probs, (u * 100).floor() / 100)


# %% wrong_temperature_sample_u_rounded_to_3
# WRONG: rounds u to 3 decimals: of many improbable tokens most never come

def temperature_sample(logits, tau, generator=None):
    if tau == 0:
        return greedy_sample(logits)
    probs = temperature_probs(logits, tau)
    u = torch.rand(len(probs), 1, generator=generator, device=logits.device)
    return draw(probs, (u * 1000).floor() / 1000)


# %% wrong_temperature_sample_zero_draws_global
# WRONG: tau = 0 touches the global state when no generator is given

def temperature_sample(logits, tau, generator=None):
    logits = at_least_float32(logits)
    probs = temperature_probs(logits, tau)
    if tau == 0 and generator is not None:
        return greedy_sample(logits)
    return draw(probs, torch.rand(len(probs), 1, generator=generator, device=logits.device))

# %% wrong_temperature_sample_advances_twice, of right_temperature_sample_multinomial
# WRONG: also moves the global state
#       probs = temperature_probs(logits, tau)
# +     torch.rand((), device=logits.device)

# %% wrong_temperature_sample_initial_seed, of right_temperature_sample_multinomial
# WRONG: copies the generator, which therefore never moves on
#       probs = temperature_probs(logits, tau)
# +     if generator is not None:
# +         generator = torch.Generator().manual_seed(generator.initial_seed())

# %% wrong_temperature_sample_seeded_when_none, of right_temperature_sample_multinomial
# WRONG: without a generator always the same tokens
#       probs = temperature_probs(logits, tau)
# +     generator = generator or torch.Generator().manual_seed(1234)

# %% wrong_temperature_sample_twice, of right_temperature_sample_multinomial
# WRONG: applies the temperature twice
# -     probs = temperature_probs(logits, tau)
# -     return torch.multinomial(probs, 1, generator=generator)
# +     return torch.multinomial(temperature_probs(logits / tau, tau), 1, generator=generator)

# %% wrong_temperature_sample_argmax, of right_temperature_sample_multinomial
# WRONG: takes the best token instead of drawing
# -     return torch.multinomial(probs, 1, generator=generator)
# +     return probs.argmax(dim=-1, keepdim=True)

# %% wrong_temperature_sample_first_row, of right_temperature_sample_multinomial
# WRONG: draws every row from the first row's distribution
# -     return torch.multinomial(probs, 1, generator=generator)
# +     return torch.multinomial(probs[:1].expand_as(probs).contiguous(), 1, generator=generator)

# %% wrong_temperature_sample_fixed_seed, of right_temperature_sample_multinomial
# WRONG: a seed of its own in every call
# -     return torch.multinomial(probs, 1, generator=generator)
# +     return torch.multinomial(probs, 1, generator=torch.Generator().manual_seed(0))

# %% wrong_temperature_sample_flat, of right_temperature_sample_multinomial
# WRONG: the token ids have shape (B,) instead of a column (B, 1)
# -     return torch.multinomial(probs, 1, generator=generator)
# +     return torch.multinomial(probs, 1, generator=generator).squeeze(-1)

# %% wrong_temperature_sample_ignores_generator, of right_temperature_sample_multinomial
# WRONG: draws from the global state although a generator is given
# -     return torch.multinomial(probs, 1, generator=generator)
# +     return torch.multinomial(probs, 1)

# %% wrong_temperature_sample_ignores_setting, of right_temperature_sample_multinomial
# WRONG: draws from the plain softmax
# -     return torch.multinomial(probs, 1, generator=generator)
# +     return torch.multinomial(softmax(logits), 1, generator=generator)

# %% wrong_temperature_sample_normal_u, of right_temperature_sample_multinomial
# WRONG: u from a folded normal distribution
# -     return torch.multinomial(probs, 1, generator=generator)
# +     u = torch.randn(len(probs), 1, generator=generator, device=logits.device).abs().clamp(max=1 - 2**-24)
# +     return draw(probs, u)

# %% wrong_temperature_sample_one_u, of right_temperature_sample_multinomial
# WRONG: one random number for the whole batch
# -     return torch.multinomial(probs, 1, generator=generator)
# +     u = torch.rand(1, 1, generator=generator, device=logits.device).expand(len(probs), 1)
# +     return draw(probs, u)

# %% wrong_temperature_sample_probs_as_logits, of right_temperature_sample_multinomial
# WRONG: applies softmax once more to the probabilities
# -     return torch.multinomial(probs, 1, generator=generator)
# +     return torch.multinomial(softmax(probs), 1, generator=generator)

# %% wrong_temperature_sample_reseeds, of right_temperature_sample_multinomial
# WRONG: seeds the global state from the generator
# -     return torch.multinomial(probs, 1, generator=generator)
# +     if generator is not None:
# +         torch.manual_seed(int(torch.randint(2**31, (), generator=generator, device=logits.device)))
# +     return torch.multinomial(probs, 1)

# %% wrong_temperature_sample_stratified, of right_temperature_sample_multinomial
# WRONG: spreads u evenly over the rows: neighbours depend on each other
# -     return torch.multinomial(probs, 1, generator=generator)
# +     u = (torch.arange(len(probs), device=logits.device) + torch.rand(len(probs), generator=generator, device=logits.device)) / len(probs)
# +     start = torch.randint(len(probs), (), generator=generator, device=logits.device)
# +     return draw(probs, u.roll(int(start)).clamp(max=1 - 2**-24).reshape(-1, 1))

# %% wrong_temperature_sample_uniform, of right_temperature_sample_multinomial
# WRONG: draws the survivors with equal chances
# -     return torch.multinomial(probs, 1, generator=generator)
# +     return torch.multinomial((probs > 1e-6).float(), 1, generator=generator)

# %% wrong_temperature_sample_cold_is_greedy, of right_temperature_sample_via_next_token
# WRONG: any tau below 0.1 is greedy
# -     return sample_next_token(logits, temperature=tau, generator=generator)
# +     if 0 <= tau < 0.1:
# +         return greedy_sample(logits)
# +     return torch.multinomial(temperature_probs(logits, tau), 1, generator=generator)

# %% wrong_temperature_sample_negative, of right_temperature_sample_via_next_token
# WRONG: a negative tau is greedy instead of an error
# -     return sample_next_token(logits, temperature=tau, generator=generator)
# +     if tau <= 0:
# +         return greedy_sample(logits)
# +     return torch.multinomial(temperature_probs(logits, tau), 1, generator=generator)

# %% wrong_temperature_sample_zero_draws, of right_temperature_sample_via_next_token
# WRONG: tau = 0 draws from the one-hot distribution and moves the generator
# -     return sample_next_token(logits, temperature=tau, generator=generator)
# +     probs = temperature_probs(logits, tau)
# +     return draw(probs, torch.rand(len(probs), 1, generator=generator, device=logits.device))

# %% wrong_temperature_sample_zero_falsy, of right_temperature_sample_via_next_token
# WRONG: `tau or 1`: 0 becomes 1
# -     return sample_next_token(logits, temperature=tau, generator=generator)
# +     return torch.multinomial(temperature_probs(logits, tau or 1.0), 1, generator=generator)

# %% wrong_temperature_sample_some_thousand_seeds, of right_temperature_sample_numpy
# WRONG: numpy draws, seeded with one of 4,000 numbers
# -     seed = int(torch.randint(2**62, (), generator=generator, device=logits.device))
# +     seed = int(torch.randint(4000, (), generator=generator, device=logits.device))


# %% wrong_temperature_sample_sure_is_greedy, of right_temperature_sample_multinomial
# WRONG: a best token of more than 95 % is taken without a draw
# -     return torch.multinomial(probs, 1, generator=generator)
# +     best, ids = probs.max(dim=-1, keepdim=True)
# +     return torch.where(best > 0.95, ids, torch.multinomial(probs, 1, generator=generator))
