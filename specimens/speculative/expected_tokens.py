# Versions of expected_tokens, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_expected_plain
# RIGHT: by the formula; most of the wrong versions are edits of it

def expected_tokens(alpha, k):
    if not 0 <= alpha <= 1:
        raise ValueError(f"alpha must be in [0, 1], got {alpha}")
    if k < 0:
        raise ValueError(f"k must be 0 or more, got {k}")
    if alpha == 1:
        return float(k + 1)
    return float((1 - alpha ** (k + 1)) / (1 - alpha))


# %% right_expected_sum
# RIGHT: guess by guess

def expected_tokens(alpha, k):
    if not 0 <= alpha <= 1 or k < 0:
        raise ValueError(f"no share of guesses, or no number of them: alpha {alpha}, k {k}")
    tokens, chance = 1.0, 1.0
    for _ in range(k):
        chance *= alpha
        tokens += chance
    return tokens


# %% right_expected_lengths
# RIGHT: n tokens times how probable n are

def expected_tokens(alpha, k):
    if not (0 <= alpha <= 1 and k >= 0):
        raise ValueError(f"alpha {alpha} must be in [0, 1] and k {k} not negative")
    cut_short = sum(n * alpha ** (n - 1) * (1 - alpha) for n in range(1, k + 1))
    return float(cut_short + (k + 1) * alpha**k)


# %% wrong_expected_divides_by_zero, of right_expected_plain
# WRONG: divides by zero at alpha 1
# -     if alpha == 1:
# -         return float(k + 1)

# %% wrong_expected_without_its_own, of right_expected_plain
# WRONG: the pass's own token is missing
# -     return float((1 - alpha ** (k + 1)) / (1 - alpha))
# +     return float(alpha * (1 - alpha**k) / (1 - alpha))

# %% wrong_expected_one_power_less, of right_expected_plain
# WRONG: alpha to the k
# -     return float((1 - alpha ** (k + 1)) / (1 - alpha))
# +     return float((1 - alpha**k) / (1 - alpha))

# %% wrong_expected_each_for_itself, of right_expected_plain
# WRONG: each guess counts by itself: 1 + k alpha
# -     return float((1 - alpha ** (k + 1)) / (1 - alpha))
# +     return float(1 + k * alpha)

# %% wrong_expected_all_or_nothing, of right_expected_plain
# WRONG: all guesses or none
# -     return float((1 - alpha ** (k + 1)) / (1 - alpha))
# +     return float(1 + k * alpha**k)

# %% wrong_expected_endless, of right_expected_plain
# WRONG: as if k had no end
# -     return float((1 - alpha ** (k + 1)) / (1 - alpha))
# +     return float(1 / (1 - alpha))

# %% wrong_expected_k_at_one, of right_expected_plain
# WRONG: k at alpha 1
# -         return float(k + 1)
# +         return float(k)

# %% wrong_expected_anything_goes, of right_expected_plain
# WRONG: alpha is not looked at
# -     if not 0 <= alpha <= 1:
# -         raise ValueError(f"alpha must be in [0, 1], got {alpha}")

# %% wrong_expected_any_k, of right_expected_plain
# WRONG: k is not looked at
# -     if k < 0:
# -         raise ValueError(f"k must be 0 or more, got {k}")

# %% wrong_expected_ends_are_refused, of right_expected_plain
# WRONG: alpha 0 and 1 are refused
# -     if not 0 <= alpha <= 1:
# +     if not 0 < alpha < 1:

# %% wrong_expected_no_guess_is_refused, of right_expected_plain
# WRONG: k 0 is refused
# -     if k < 0:
# +     if k < 1:

# %% wrong_expected_unnamed, of right_expected_plain
# WRONG: the message does not name what was refused
# -         raise ValueError(f"alpha must be in [0, 1], got {alpha}")
# +         raise ValueError("alpha must be in the unit interval")

# %% wrong_expected_near_one, of right_expected_plain
# WRONG: k + 1 for every alpha near 1
# -     if alpha == 1:
# +     if alpha > 0.999:


# %% wrong_expected_recursion
# WRONG: recursion, which Python ends at a depth of 1,000
def expected_tokens(alpha, k):
    if not 0 <= alpha <= 1:
        raise ValueError(f'alpha must be in [0, 1], got {alpha}')
    if k < 0:
        raise ValueError(f'k must be 0 or more, got {k}')
    return 1.0 if k == 0 else 1 + alpha * expected_tokens(alpha, k - 1)


# %% wrong_expected_nan, of right_expected_plain
# WRONG: nan is not refused: it is neither below 0 nor above 1
# -     if not 0 <= alpha <= 1:
# +     if alpha < 0 or alpha > 1:


# %% wrong_expected_int_at_one, of right_expected_plain
# WRONG: gives an int at alpha 1
# -         return float(k + 1)
# +         return k + 1
