# Versions of naive_positions, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_naive_gauss
# RIGHT: first plus last
def naive_positions(t0, g):
    return g * (2 * t0 + g - 1) // 2


# %% right_naive_loop
# RIGHT: a loop
def naive_positions(t0, g):
    total = 0
    for step in range(g):
        total += t0 + step
    return total


# %% right_naive_sum
# RIGHT: a sum over a range
def naive_positions(t0, g):
    return sum(range(t0, t0 + g))


# %% right_naive_torch
# RIGHT: torch adds
def naive_positions(t0, g):
    return int(torch.arange(t0, t0 + g).sum())


# %% wrong_naive_a_float
# WRONG: a division with /, which gives a float
def naive_positions(t0, g):
    return g * t0 + g * (g - 1) / 2


# %% wrong_naive_cached
# WRONG: with a cache
# SAYS: This is the number with a cache. Without one each step reads the whole text.
def naive_positions(t0, g):
    return t0 + g - 1 if g else 0


# %% wrong_naive_constant
# WRONG: the prompt in every step
# SAYS: The prompt is counted in every step. With a cache it is read once.
def naive_positions(t0, g):
    return g * t0


# %% wrong_naive_inclusive
# WRONG: one step too many
def naive_positions(t0, g):
    return sum(range(t0, t0 + g + 1))


# %% wrong_naive_longest
# WRONG: the final length in every step
def naive_positions(t0, g):
    return g * (t0 + g)


# %% wrong_naive_new_only
# WRONG: only what is new in each step
# SAYS: Only what is new in each step is counted. Without a cache each step reads the whole text.
def naive_positions(t0, g):
    return t0 + g


# %% wrong_naive_no_prompt_no_work
# WRONG: without a prompt nothing is counted, although the new tokens are read
def naive_positions(t0, g):
    return g * t0 + g * (g - 1) // 2 if t0 else 0


# %% wrong_naive_none_for_zero
# WRONG: nothing comes back where no token is generated
def naive_positions(t0, g):
    if g:
        return g * t0 + g * (g - 1) // 2


# %% wrong_naive_not_halved
# WRONG: the triangle not halved
# SAYS: g (g - 1) is not halved: 0 + 1 + ... + (g - 1) is half of that.
def naive_positions(t0, g):
    return g * t0 + g * (g - 1)


# %% wrong_naive_one_less
# WRONG: one step too few
def naive_positions(t0, g):
    return sum(range(t0, t0 + g - 1))


# %% wrong_naive_one_more
# WRONG: counted after each token was added
# SAYS: Each step is counted with the token that it makes. A step reads what is there before.
def naive_positions(t0, g):
    return sum(range(t0 + 1, t0 + g + 1))


# %% wrong_naive_positions_int32
# WRONG: int32 sum overflows
# SAYS: The sum is taken in 32 bits, which hold 2,147,483,647 at the most.
import numpy as np
def naive_positions(t0, g):
    return int(np.arange(t0, t0 + g, dtype=np.int32).sum(dtype=np.int32))


# %% wrong_naive_positions_window2048
# WRONG: window of 2048
# SAYS: The text is cut at 2,048 tokens. The count has no such limit.
def naive_positions(t0, g):
    return sum(min(t0 + i, 2048) for i in range(g))


# %% wrong_naive_prompt_not_first
# WRONG: the first step reads one token
def naive_positions(t0, g):
    return sum(range(1, g + 1))


# %% wrong_naive_squares
# WRONG: positions of attention
# SAYS: These are pairs of positions, which attention looks at. Count the positions that pass through the layers.
def naive_positions(t0, g):
    return sum(n * n for n in range(t0, t0 + g))


# %% wrong_naive_swapped
# WRONG: arguments exchanged
# SAYS: t0 and g are exchanged: t0 tokens are there at first, g are generated.
def naive_positions(t0, g):
    return sum(range(g, t0 + g))


# %% wrong_naive_triangle_only
# WRONG: the new tokens only
# SAYS: The prompt is left out. Without a cache each step reads its t0 tokens again.
def naive_positions(t0, g):
    return g * (g - 1) // 2
