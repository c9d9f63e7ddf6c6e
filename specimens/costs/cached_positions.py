# Versions of cached_positions, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_cached_loop
# RIGHT: step by step
def cached_positions(t0, g):
    total = 0
    for step in range(g):
        total += t0 if step == 0 else 1
    return total


# %% right_cached_max
# RIGHT: never below nothing
def cached_positions(t0, g):
    return t0 + max(g, 1) - 1 if g else 0


# %% right_cached_product
# RIGHT: a truth value as a factor
def cached_positions(t0, g):
    return (t0 + g - 1) * (g > 0)


# %% wrong_cached_a_float
# WRONG: a float where a number of positions is a whole number
def cached_positions(t0, g):
    return t0 + g - 1.0 if g > 0 else 0


# %% wrong_cached_all_new
# WRONG: new tokens only
# SAYS: The new tokens alone are counted. Each step reads the whole text before it.
def cached_positions(t0, g):
    return g


# %% wrong_cached_decode_only
# WRONG: the prompt forgotten
def cached_positions(t0, g):
    return max(g - 1, 0)


# %% wrong_cached_last_fed_back
# WRONG: the last token fed back
def cached_positions(t0, g):
    return t0 + g if g else 0


# %% wrong_cached_naive
# WRONG: without a cache
# SAYS: This is the number without a cache. With one each token is read once.
def cached_positions(t0, g):
    return sum(range(t0, t0 + g))


# %% wrong_cached_prompt_anyway
# WRONG: the prompt read although there is nothing to read
def cached_positions(t0, g):
    return t0 + max(g - 1, 0)


# %% wrong_cached_prompt_less_one
# WRONG: the last token of the prompt left out
def cached_positions(t0, g):
    return t0 - 1 + g - 1 if g else 0


# %% wrong_cached_prompt_only
# WRONG: the prompt only
def cached_positions(t0, g):
    return t0 if g else 0


# %% wrong_cached_two_less
# WRONG: two too few
def cached_positions(t0, g):
    return t0 + max(g - 2, 0) if g else 0


# %% wrong_cached_zero_a_float
# WRONG: 0.0 for no token, where a number of positions is a whole number
def cached_positions(t0, g):
    return t0 + g - 1 if g > 0 else 0.0


# %% wrong_cached_zero_steps
# WRONG: t0 - 1 for no token
# SAYS: t0 - 1 for no token. Where nothing is generated, nothing is read: 0.
def cached_positions(t0, g):
    return t0 + g - 1


# %% wrong_cached_window
# WRONG: never more than 2,048 positions, as if the text were cut
# SAYS: The text is cut at 2,048 tokens. The count has no such limit.
def cached_positions(t0, g):
    return min(t0 + g - 1, 2048) if g else 0
