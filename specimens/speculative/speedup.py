# Versions of speedup, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_speedup_plain
# RIGHT: tokens over time; most of the wrong versions are edits of it

def speedup(alpha, k, cost_ratio):
    tokens = expected_tokens(alpha, k)
    time = k * cost_ratio + 1
    return tokens / time


# %% right_speedup_by_itself
# RIGHT: the sum by itself

def speedup(alpha, k, cost_ratio):
    if k < 0 or not 0 <= alpha <= 1:
        raise ValueError(f"alpha {alpha}, k {k}")
    return sum(alpha**i for i in range(k + 1)) / (1.0 + cost_ratio * k)


# %% right_speedup_by_rates
# RIGHT: tokens per unit of time of both, divided

def speedup(alpha, k, cost_ratio):
    seconds = 1.0
    tokens = float(expected_tokens(alpha, k))
    for _ in range(k):
        seconds = seconds + cost_ratio
    plain_rate = 1.0
    return (tokens / seconds) / plain_rate


# %% wrong_speedup_free_draft, of right_speedup_plain
# WRONG: the draft costs nothing
# -     time = k * cost_ratio + 1
# +     time = 1

# %% wrong_speedup_one_draft_token, of right_speedup_plain
# WRONG: the draft is paid once a round, not once a token
# -     time = k * cost_ratio + 1
# +     time = cost_ratio + 1

# %% wrong_speedup_no_pass, of right_speedup_plain
# WRONG: the model's own pass is not paid
# -     time = k * cost_ratio + 1
# +     time = max(k * cost_ratio, 1e-9)

# %% wrong_speedup_one_more, of right_speedup_plain
# WRONG: the draft is paid k + 1 times
# -     time = k * cost_ratio + 1
# +     time = (k + 1) * cost_ratio + 1

# %% wrong_speedup_kept_only, of right_speedup_plain
# WRONG: only what is kept is paid
# -     time = k * cost_ratio + 1
# +     time = (tokens - 1) * cost_ratio + 1

# %% wrong_speedup_time_saved, of right_speedup_plain
# WRONG: time over tokens
# -     return tokens / time
# +     return time / tokens

# %% wrong_speedup_never_loses, of right_speedup_plain
# WRONG: never less than 1
# -     return tokens / time
# +     return max(1.0, tokens / time)

# %% wrong_speedup_without_the_own_token, of right_speedup_plain
# WRONG: only the guesses that are kept count
# -     tokens = expected_tokens(alpha, k)
# +     tokens = expected_tokens(alpha, k) - 1

# %% wrong_speedup_one_guess_more, of right_speedup_plain
# WRONG: as if k + 1 tokens were guessed
# -     tokens = expected_tokens(alpha, k)
# +     tokens = expected_tokens(alpha, k + 1)

# %% wrong_speedup_pass_of_many, of right_speedup_plain
# WRONG: the pass is paid for every token in it
# -     time = k * cost_ratio + 1
# +     time = k * cost_ratio + k + 1

# %% wrong_speedup_anything_goes
# WRONG: alpha and k are not looked at
def speedup(alpha, k, cost_ratio):
    tokens = k + 1 if alpha == 1 else (1 - alpha ** (k + 1)) / (1 - alpha)
    return tokens / (k * cost_ratio + 1)


# %% wrong_speedup_nan
# WRONG: nan is not refused: it is neither below 0 nor above 1
def speedup(alpha, k, cost_ratio):
    if alpha < 0 or alpha > 1 or k < 0:
        raise ValueError(f"alpha {alpha}, k {k}")
    return sum(alpha**i for i in range(k + 1)) / (k * cost_ratio + 1)


# %% wrong_speedup_no_guess_unchecked, of right_speedup_plain
# WRONG: gives 1 for a k of 0 before alpha is checked
# +     if k == 0:
# +         return 1.0
#       tokens = expected_tokens(alpha, k)
