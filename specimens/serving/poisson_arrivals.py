# Versions of poisson_arrivals, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_arrivals_plain
# RIGHT: one after the other; most of the wrong versions are edits of it
def poisson_arrivals(rate, uniforms):
    if not rate > 0:
        raise ValueError(f"rate must be above 0, got {rate}")
    arrivals, now = [], 0.0
    for u in uniforms:
        now += -math.log(1.0 - u) / rate
        arrivals.append(now)
    return arrivals


# %% right_arrivals_torch
# RIGHT: a running sum of torch's
def poisson_arrivals(rate, uniforms):
    if rate <= 0 or rate != rate:
        raise ValueError(f"a rate of {rate} a second is none")
    gaps = -torch.log1p(-torch.tensor(list(uniforms), dtype=torch.float64)) / rate
    return gaps.cumsum(dim=0).tolist()


# %% right_arrivals_numpy
# RIGHT: numpy; the sum first, then the rate
import numpy as np


def poisson_arrivals(rate, uniforms):
    if not (rate > 0):
        raise ValueError("rate " + repr(rate))
    sums = np.cumsum(np.log1p(-np.asarray(uniforms, dtype=np.float64)))
    return [float(-each / rate) + 0.0 for each in sums]


# %% wrong_arrivals_gaps, of right_arrivals_plain
# WRONG: gaps that are not summed
# -         now += -math.log(1.0 - u) / rate
# +         now = -math.log(1.0 - u) / rate


# %% wrong_arrivals_rate_inverted, of right_arrivals_plain
# WRONG: times the rate
# -         now += -math.log(1.0 - u) / rate
# +         now += -math.log(1.0 - u) * rate


# %% wrong_arrivals_uniform, of right_arrivals_plain
# WRONG: uniform gaps
# -         now += -math.log(1.0 - u) / rate
# +         now += u / rate


# %% wrong_arrivals_even, of right_arrivals_plain
# WRONG: even gaps
# -         now += -math.log(1.0 - u) / rate
# +         now += 1 / rate


# %% wrong_arrivals_log_u, of right_arrivals_plain
# WRONG: the logarithm of u and not of 1 - u: u = 0 has no logarithm
# -         now += -math.log(1.0 - u) / rate
# +         now += -math.log(u) / rate


# %% wrong_arrivals_log_u_clamped, of right_arrivals_plain
# WRONG: the logarithm of u, kept away from 0
# -         now += -math.log(1.0 - u) / rate
# +         now += -math.log(max(u, 1e-12)) / rate


# %% wrong_arrivals_log2, of right_arrivals_plain
# WRONG: the logarithm to base 2
# -         now += -math.log(1.0 - u) / rate
# +         now += -math.log2(1.0 - u) / rate


# %% wrong_arrivals_negative, of right_arrivals_plain
# WRONG: the sign is missing
# -         now += -math.log(1.0 - u) / rate
# +         now += math.log(1.0 - u) / rate


# %% wrong_arrivals_first_at_zero, of right_arrivals_plain
# WRONG: the first comes at 0
# -         now += -math.log(1.0 - u) / rate
# -         arrivals.append(now)
# +         arrivals.append(now)
# +         now += -math.log(1.0 - u) / rate


# %% wrong_arrivals_from_zero, of right_arrivals_plain
# WRONG: one more, at 0
# -     arrivals, now = [], 0.0
# +     arrivals, now = [0.0], 0.0


# %% wrong_arrivals_no_check, of right_arrivals_plain
# WRONG: a rate of 0 or below is taken
# -     if not rate > 0:
# -         raise ValueError(f"rate must be above 0, got {rate}")


# %% wrong_arrivals_zero_taken, of right_arrivals_plain
# WRONG: a rate of 0 is infinite gaps
# -     if not rate > 0:
# +     if rate == 0:
# +         return [math.inf for _ in uniforms]
# +     if not rate > 0:


# %% wrong_arrivals_negative_taken, of right_arrivals_plain
# WRONG: only 0 is refused
# -     if not rate > 0:
# +     if rate == 0:


# %% wrong_arrivals_nan_taken, of right_arrivals_plain
# WRONG: NaN is taken
# -     if not rate > 0:
# +     if rate <= 0:


# %% wrong_arrivals_assertion, of right_arrivals_plain
# WRONG: another exception
# -         raise ValueError(f"rate must be above 0, got {rate}")
# +         raise AssertionError(f"rate must be above 0, got {rate}")


# %% wrong_arrivals_no_value, of right_arrivals_plain
# WRONG: the message does not say which rate
# -         raise ValueError(f"rate must be above 0, got {rate}")
# +         raise ValueError("this rate is none")


# %% wrong_arrivals_checked_in_the_loop, of right_arrivals_plain
# WRONG: nobody's rate is not looked at
# -     if not rate > 0:
# -         raise ValueError(f"rate must be above 0, got {rate}")
# ...
# -     for u in uniforms:
# +     for u in uniforms:
# +         if not rate > 0:
# +             raise ValueError(f"rate must be above 0, got {rate}")


# %% wrong_arrivals_sorted, of right_arrivals_plain
# WRONG: the numbers are sorted first
# -     for u in uniforms:
# +     for u in sorted(uniforms):


# %% wrong_arrivals_clamped, of right_arrivals_plain
# WRONG: numbers near 1 are cut off
# -         now += -math.log(1.0 - u) / rate
# +         now += -math.log(1.0 - min(u, 0.99)) / rate


# %% wrong_arrivals_rounded, of right_arrivals_plain
# WRONG: rounded to milliseconds
# -         arrivals.append(now)
# +         arrivals.append(round(now, 3))


# %% wrong_arrivals_in_place
# WRONG: the caller's list becomes the arrivals
def poisson_arrivals(rate, uniforms):
    if not rate > 0:
        raise ValueError(f"rate must be above 0, got {rate}")
    now = 0.0
    for i, u in enumerate(uniforms):
        now += -math.log(1.0 - u) / rate
        uniforms[i] = now
    return uniforms


# %% wrong_arrivals_tensor, of right_arrivals_plain
# WRONG: a tensor
# -     return arrivals
# +     return torch.tensor(arrivals, dtype=torch.float64)


# %% wrong_arrivals_generator, of right_arrivals_plain
# WRONG: a generator
# -     return arrivals
# +     return iter(arrivals)


# %% wrong_arrivals_own_numbers
# WRONG: draws its own numbers
def poisson_arrivals(rate, uniforms):
    if not rate > 0:
        raise ValueError(f"rate must be above 0, got {rate}")
    gaps = -torch.rand(len(uniforms), dtype=torch.float64).log() / rate
    return gaps.cumsum(0).tolist()


# %% wrong_arrivals_single
# WRONG: in float32
def poisson_arrivals(rate, uniforms):
    if not rate > 0:
        raise ValueError(f"rate must be above 0, got {rate}")
    return (-(1 - torch.tensor(list(uniforms), dtype=torch.float32)).log() / rate).cumsum(0).tolist()
