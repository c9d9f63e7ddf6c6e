# Versions of temperature_probs, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_temperature_plain
# RIGHT: step by step; most of the wrong versions are edits of it

def temperature_probs(logits, tau):
    logits = at_least_float32(logits)
    if tau < 0:
        raise ValueError(f"temperature must be 0 or more, got {tau}")
    if tau == 0:
        return torch.zeros_like(logits).scatter(-1, greedy_sample(logits), 1.0)
    return softmax(logits / tau)


# %% right_temperature_log_softmax
# RIGHT: log-softmax and exp, in place on its own copy

def temperature_probs(logits, tau):
    logits = at_least_float32(logits)
    if tau < 0:
        raise ValueError(f"temperature {tau} < 0")
    scaled = logits.clone()
    if tau == 0:
        keep = scaled.argmax(dim=1, keepdim=True)
        scaled.fill_(0).scatter_(1, keep, 1.0)
        return scaled
    scaled.sub_(scaled.max(dim=1, keepdim=True)[0]).div_(tau)
    return torch.log_softmax(scaled, dim=1).exp_()


# %% right_temperature_numpy_rows
# RIGHT: numpy, one row after another

import numpy as np


def temperature_probs(logits, tau):
    logits = at_least_float32(logits)
    if tau < 0:
        raise ValueError("temperature must not be negative: %s" % tau)
    rows = []
    for row in logits.detach().numpy().astype(np.float64):
        if tau == 0:
            new = np.zeros_like(row)
            new[row.argmax()] = 1.0
        else:
            new = np.exp((row - row.max()) / tau)
            new /= new.sum()
        rows.append(new)
    return torch.tensor(np.stack(rows), dtype=logits.dtype, device=logits.device)


# %% right_temperature_power
# RIGHT: raises probabilities to the power 1/tau, in float64

def temperature_probs(logits, tau):
    logits = at_least_float32(logits)
    if not tau >= 0:
        raise ValueError(f"bad temperature {tau}")
    if tau == 0:
        result = torch.zeros(logits.shape, dtype=logits.dtype, device=logits.device)
        result[torch.arange(len(logits), device=logits.device), logits.argmax(-1)] = 1
        return result
    top = logits.double() - logits.double().amax(-1, keepdim=True)
    weights = top.exp() ** (1 / tau)
    return (weights / weights.sum(-1, keepdim=True)).to(logits.dtype)


# %% right_temperature_torch
# RIGHT: torch.softmax, and a one-hot by comparison

def temperature_probs(logits, tau):
    logits = at_least_float32(logits)
    if tau < 0:
        raise ValueError(f"tau = {tau} is negative")
    if tau == 0:
        best = logits.argmax(dim=-1)
        return torch.nn.functional.one_hot(best, logits.shape[-1]).to(logits.dtype)
    return torch.softmax(logits / tau, dim=-1)


# %% wrong_temperature_always_float32
# WRONG: computes in float32 always: the digits of float64 logits are lost

exact_temperature = temperature_probs


def temperature_probs(logits, tau):
    return exact_temperature(logits.float(), tau)


# %% wrong_temperature_at_least_1e_6
# WRONG: raises every tau to 1e-6 at least: at 0 a second logit that is nearly the best keeps a share

def temperature_probs(logits, tau):
    if tau < 0:
        raise ValueError(f"temperature must be 0 or more, got {tau}")
    return softmax(at_least_float32(logits) / max(tau, 1e-6))


# %% wrong_temperature_divides_in_half
# WRONG: divides by tau in the dtype of the logits, and raises the precision only then

def temperature_probs(logits, tau):
    if tau < 0:
        raise ValueError(f"temperature must be 0 or more, got {tau}")
    if tau == 0:
        return at_least_float32(torch.zeros_like(logits).scatter(-1, greedy_sample(logits), 1.0))
    return softmax(at_least_float32(logits / tau))


# %% wrong_temperature_on_the_cpu
# WRONG: makes a tensor without `device=`: with logits on a GPU it is on the CPU

def temperature_probs(logits, tau):
    if tau < 0:
        raise ValueError(f"temperature must be 0 or more, got {tau}")
    logits = at_least_float32(logits)
    if tau == 0:
        return torch.zeros(logits.shape, dtype=logits.dtype).scatter(-1, greedy_sample(logits), 1.0)
    return softmax(logits / tau)


# %% wrong_temperature_probs_clamp_high
# WRONG: takes a tau above 5 for 5
def temperature_probs(logits, tau):
    logits = at_least_float32(logits)
    if tau < 0: raise ValueError(f"temperature {tau}")
    if tau == 0: return torch.zeros_like(logits).scatter(-1, greedy_sample(logits), 1.0)
    return softmax(logits / min(tau, 5.0))


# %% wrong_temperature_probs_greedy_below
# WRONG: takes a tau below 0.01 for 0
def temperature_probs(logits, tau):
    logits = at_least_float32(logits)
    if tau < 0: raise ValueError(f"temperature {tau}")
    if tau < 1e-2: return torch.zeros_like(logits).scatter(-1, greedy_sample(logits), 1.0)
    return softmax(logits / tau)


# %% wrong_temperature_probs_inplace_zero
# WRONG: at tau = 0 the input is overwritten
def temperature_probs(logits, tau):
    logits = at_least_float32(logits)
    if tau < 0: raise ValueError(f"temperature {tau}")
    if tau == 0:
        ids = greedy_sample(logits)
        return logits.zero_().scatter_(-1, ids, 1.0)
    return softmax(logits / tau)


# %% wrong_temperature_probs_power
# WRONG: raises probabilities to the power 1/tau: those that had underflowed to 0 stay 0 at a high tau
def temperature_probs(logits, tau):
    logits = at_least_float32(logits)
    if tau < 0: raise ValueError(f"temperature {tau}")
    if tau == 0: return torch.zeros_like(logits).scatter(-1, greedy_sample(logits), 1.0)
    p = softmax(logits) ** (1 / tau)
    return p / p.sum(-1, keepdim=True)


# %% wrong_temperature_probs_tie_all_one
# WRONG: tau = 0 gives 1 to each of equals
def temperature_probs(logits, tau):
    logits = at_least_float32(logits)
    if tau < 0: raise ValueError(f"temperature {tau}")
    if tau == 0:
        return (logits == logits.amax(-1, keepdim=True)).to(logits.dtype)
    return softmax(logits / tau)


# %% wrong_temperature_rounds_back
# WRONG: computes in float32, then rounds the probabilities to the dtype of the logits

def temperature_probs(logits, tau):
    if tau < 0:
        raise ValueError(f"temperature must be 0 or more, got {tau}")
    x = at_least_float32(logits)
    if tau == 0:
        return torch.zeros_like(logits).scatter(-1, greedy_sample(logits), 1.0)
    return softmax(x / tau).to(logits.dtype)


# %% wrong_temperature_view
# WRONG: flattens with view: logits that are not contiguous raise

def temperature_probs(logits, tau):
    if tau < 0:
        raise ValueError(f"temperature must be 0 or more, got {tau}")
    x = at_least_float32(logits).view(-1).view(logits.shape)
    if tau == 0:
        return torch.zeros_like(x).scatter(-1, greedy_sample(x), 1.0)
    return softmax(x / tau)


# %% wrong_temperature_zero_is_1e_12
# WRONG: takes 1e-12 for a tau of 0: a second logit that is nearly the best keeps a share

def temperature_probs(logits, tau):
    if tau < 0:
        raise ValueError(f"temperature must be 0 or more, got {tau}")
    return softmax(at_least_float32(logits) / (tau or 1e-12))


# %% wrong_temperature_zero_is_1e_6
# WRONG: takes 1e-6 for a tau of 0: a second logit that is nearly the best keeps a share

def temperature_probs(logits, tau):
    if tau < 0:
        raise ValueError(f"temperature must be 0 or more, got {tau}")
    return softmax(at_least_float32(logits) / (tau or 1e-6))


# %% wrong_temperature_zero_refused
# WRONG: tau = 0 is refused instead of being greedy

def temperature_probs(logits, tau):
    logits = at_least_float32(logits)
    if tau <= 0:
        raise ValueError(f"temperature must be above 0, got {tau}")
    return softmax(logits / tau)

# %% wrong_temperature_in_half_precision, of right_temperature_plain
# WRONG: computes in the dtype of the logits: in bfloat16 a probability has two or three digits
# -     logits = at_least_float32(logits)

# %% wrong_temperature_assertion, of right_temperature_plain
# WRONG: AssertionError instead of ValueError
# -     if tau < 0:
# -         raise ValueError(f"temperature must be 0 or more, got {tau}")
# +     assert tau >= 0, f"temperature must be 0 or more, got {tau}"

# %% wrong_temperature_negative_abs, of right_temperature_plain
# WRONG: a negative tau is taken as its absolute value
# -     if tau < 0:
# -         raise ValueError(f"temperature must be 0 or more, got {tau}")
# +     tau = abs(tau)

# %% wrong_temperature_negative_accepted, of right_temperature_plain
# WRONG: a negative tau turns the order round in silence
# -     if tau < 0:
# -         raise ValueError(f"temperature must be 0 or more, got {tau}")

# %% wrong_temperature_error_unnamed, of right_temperature_plain
# WRONG: the error does not name the value
# -         raise ValueError(f"temperature must be 0 or more, got {tau}")
# +         raise ValueError("temperature must not be negative")

# %% wrong_temperature_zero_divides, of right_temperature_plain
# WRONG: tau = 0 divides by zero
# -     if tau == 0:
# -         return torch.zeros_like(logits).scatter(-1, greedy_sample(logits), 1.0)

# %% wrong_temperature_zero_epsilon, of right_temperature_plain
# WRONG: tau = 0 replaced by 0.1: not greedy yet
# -     if tau == 0:
# -         return torch.zeros_like(logits).scatter(-1, greedy_sample(logits), 1.0)
# -     return softmax(logits / tau)
# +     return softmax(logits / max(tau, 0.1))

# %% wrong_temperature_zero_is_one, of right_temperature_plain
# WRONG: tau = 0 is taken as `not set`
# -     if tau == 0:
# -         return torch.zeros_like(logits).scatter(-1, greedy_sample(logits), 1.0)
# -     return softmax(logits / tau)
# +     return softmax(logits / (tau or 1.0))

# %% wrong_temperature_zero_first_row, of right_temperature_plain
# WRONG: tau = 0 gives every row the first row's best token
# -         return torch.zeros_like(logits).scatter(-1, greedy_sample(logits), 1.0)
# +         probs = torch.zeros_like(logits)
# +         probs[:, logits[0].argmax()] = 1.0
# +         return probs

# %% wrong_temperature_banned_nan, of right_temperature_plain
# WRONG: centres by the mean: a logit of -inf makes nan
# -     return softmax(logits / tau)
# +     return torch.softmax((logits - logits.mean(dim=-1, keepdim=True)) / tau, dim=-1)

# %% wrong_temperature_batch_max, of right_temperature_plain
# WRONG: subtracts the maximum of the whole batch: a low row underflows to nan
# -     return softmax(logits / tau)
# +     weights = ((logits - logits.max()) / tau).exp()
# +     return weights / weights.sum(dim=-1, keepdim=True)

# %% wrong_temperature_dim0, of right_temperature_plain
# WRONG: takes softmax over the rows of the batch instead of along the vocabulary
# -     return softmax(logits / tau)
# +     return torch.softmax(logits / tau, dim=0)

# %% wrong_temperature_in_place, of right_temperature_plain
# WRONG: divides the caller's tensor
# -     return softmax(logits / tau)
# +     logits /= tau
# +     return softmax(logits)

# %% wrong_temperature_no_shift, of right_temperature_plain
# WRONG: exponentials without subtracting the maximum: overflow at small tau
# -     return softmax(logits / tau)
# +     weights = (logits / tau).exp()
# +     return weights / weights.sum(dim=-1, keepdim=True)

# %% wrong_temperature_no_softmax, of right_temperature_plain
# WRONG: returns the logits divided by tau, without softmax
# -     return softmax(logits / tau)
# +     return logits / tau

# %% wrong_temperature_on_probs, of right_temperature_plain
# WRONG: divides the probabilities by tau and renormalises: nothing happens
# -     return softmax(logits / tau)
# +     probs = softmax(logits) / tau
# +     return probs / probs.sum(dim=-1, keepdim=True)

# %% wrong_temperature_squared, of right_temperature_plain
# WRONG: divides by tau squared
# -     return softmax(logits / tau)
# +     return softmax(logits / tau**2)

# %% wrong_temperature_swapped, of right_temperature_plain
# WRONG: sharpening and flattening swapped: multiplies by tau
# -     return softmax(logits / tau)
# +     return softmax(logits * tau)


# %% wrong_temperature_small_is_greedy, of right_temperature_plain
# WRONG: every temperature below 1e-5 is taken for greedy
# -     if tau == 0:
# +     if tau < 1e-5:


# %% right_temperature_log_sum_exp
# RIGHT: exp of the logit less log-sum-exp, which float32 rounds for large logits
def temperature_probs(logits, tau):
    logits = at_least_float32(logits)
    if not tau >= 0:
        raise ValueError(tau)
    if tau == 0:
        return torch.nn.functional.one_hot(logits.argmax(-1), logits.shape[-1]).to(logits.dtype)
    logits = logits / tau
    return torch.exp(logits - logits.logsumexp(-1, keepdim=True))


# %% wrong_temperature_zero_lead_in_float32
# WRONG: at tau = 0 the best token is sought in float32, which takes two nearly equal float64 logits for equal
def temperature_probs(logits, tau):
    if tau < 0:
        raise ValueError(f"temperature must be 0 or more, got {tau}")
    wide = logits.to(torch.promote_types(logits.dtype, torch.float32))
    if tau == 0:
        return torch.zeros_like(wide).scatter(-1, logits.float().argmax(dim=-1, keepdim=True), 1.0)
    return torch.softmax(wide / tau, dim=-1)
