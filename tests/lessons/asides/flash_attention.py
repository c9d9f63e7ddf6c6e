# === colleagues_absorb
# Repairs of the colleague's function in "Find the bug" after finish. How they are judged: tests/lessons/test_asides.py.


# %% right_zero_in_place_of_inf
# RIGHT: the larger maximum, and 0 where it is -inf
def colleagues_absorb(state, scores, values):
    m = torch.maximum(state.m, scores.max(dim=-1).values)
    top = m.masked_fill(m == -torch.inf, 0.0)
    past = torch.exp(state.m - top)
    new = torch.exp(scores - top[..., None])
    return State(m, past * state.l + new.sum(-1), past[..., None] * state.acc + new @ values)


# %% right_own_function
# RIGHT: the exercise's
def colleagues_absorb(state, scores, values):
    return absorb(state, scores, values)


# %% right_no_lower_than
# RIGHT: a maximum that is never -inf
def colleagues_absorb(state, scores, values):
    top = torch.maximum(state.m, scores.max(dim=-1).values).clamp(min=-1e30)
    past = torch.exp(state.m - top)
    new = torch.exp(scores - top[..., None])
    return State(top, past * state.l + new.sum(-1), past[..., None] * state.acc + new @ values)


# %% right_what_is_no_number_is_nothing
# RIGHT: what is not a number is made 0
def colleagues_absorb(state, scores, values):
    top = torch.maximum(state.m, scores.max(dim=-1).values)
    past = torch.exp(state.m - top).nan_to_num(0.0)
    new = torch.exp(scores - top[..., None]).nan_to_num(0.0)
    return State(top, past * state.l + new.sum(-1), past[..., None] * state.acc + new @ values)


# %% wrong_as_released, of right_no_lower_than
# WRONG: the cell's own
# -     top = torch.maximum(state.m, scores.max(dim=-1).values).clamp(min=-1e30)
# +     top = scores.max(dim=-1).values


# %% wrong_masked_tiles_forgotten, of right_no_lower_than
# WRONG: the larger maximum, and -inf less -inf where there is none yet
# -     top = torch.maximum(state.m, scores.max(dim=-1).values).clamp(min=-1e30)
# +     top = torch.maximum(state.m, scores.max(dim=-1).values)


# %% wrong_smaller, of right_no_lower_than
# WRONG: the smaller maximum
# -     top = torch.maximum(state.m, scores.max(dim=-1).values).clamp(min=-1e30)
# +     top = torch.minimum(state.m, scores.max(dim=-1).values)


# %% wrong_the_first_kept, of right_no_lower_than
# WRONG: the first tile's maximum for good
# -     top = torch.maximum(state.m, scores.max(dim=-1).values).clamp(min=-1e30)
# +     top = torch.where(state.m == -torch.inf, scores.max(dim=-1).values, state.m)


# %% wrong_one_for_all_rows, of right_no_lower_than
# WRONG: one maximum for all rows
# -     top = torch.maximum(state.m, scores.max(dim=-1).values).clamp(min=-1e30)
# +     top = torch.maximum(state.m, scores.max())


# %% wrong_cut_off
# WRONG: the exponent cut off where float32 ends
def colleagues_absorb(state, scores, values):
    top = scores.max(dim=-1).values
    past = torch.exp((state.m - top).clamp(max=80))
    new = torch.exp(scores - top[..., None])
    return State(top, past * state.l + new.sum(-1), past[..., None] * state.acc + new @ values)


# %% wrong_more_precise
# WRONG: float64, which ends later
def colleagues_absorb(state, scores, values):
    top = scores.max(dim=-1).values
    past = torch.exp((state.m - top).double())
    new = torch.exp((scores - top[..., None]).double())
    return State(top, past * state.l + new.sum(-1), past[..., None] * state.acc + new @ values.double())


# %% wrong_no_number_is_nothing, of right_what_is_no_number_is_nothing
# WRONG: the last tile's maximum, and what is not a number is made 0
# -     top = torch.maximum(state.m, scores.max(dim=-1).values)
# +     top = scores.max(dim=-1).values


# %% wrong_upside_down
# WRONG: old and new exchanged in the factor
def colleagues_absorb(state, scores, values):
    top = torch.maximum(state.m, scores.max(dim=-1).values)
    past = torch.exp(top - state.m)
    new = torch.exp(scores - top[..., None])
    return State(top, past * state.l + new.sum(-1), past[..., None] * state.acc + new @ values)


# %% wrong_nothing_subtracted, of right_no_lower_than
# WRONG: no maximum at all
# -     top = torch.maximum(state.m, scores.max(dim=-1).values).clamp(min=-1e30)
# +     top = torch.zeros_like(state.m)


# %% wrong_one_row_only, of right_no_lower_than
# WRONG: Python's max, which needs a single row
# -     top = torch.maximum(state.m, scores.max(dim=-1).values).clamp(min=-1e30)
# +     top = max(state.m, scores.max())


# %% wrong_past_is_dropped
# WRONG: a state of the last tile only
def colleagues_absorb(state, scores, values):
    top = torch.maximum(state.m, scores.max(dim=-1).values)
    past = torch.zeros_like(top)
    new = torch.exp(scores - top[..., None])
    return State(top, past * state.l + new.sum(-1), past[..., None] * state.acc + new @ values)


# %% wrong_returns_nothing
# WRONG: without a result
def colleagues_absorb(state, scores, values):
    pass


# %% wrong_raises
# WRONG: an error of its own
def colleagues_absorb(state, scores, values):
    raise KeyError("m")


# %% wrong_no_function
# WRONG: not a function
colleagues_absorb = None


# === my_flops
# FLOPs that refute "FlashAttention makes attention linear in the length of the text". How they are judged: tests/lessons/test_asides.py.


# %% right_number
# RIGHT: 136 tiles
my_flops = 71_303_168


# %% right_as_tiles
# RIGHT: worked out in the cell
my_flops = sum(range(1, 17)) * 2 * 2 * 64 * 64 * 32


# %% right_as_float
# RIGHT: as a floating-point number
my_flops = 1_572_864 / 3 * 136


# %% right_tensor
# RIGHT: as a tensor
my_flops = torch.tensor(71_303_168)


# %% wrong_as_released
# WRONG: the cell's own: eight times as many
my_flops = 12_582_912


# %% wrong_square
# WRONG: 64 times as many
my_flops = 64 * 1_572_864


# %% wrong_all_tiles
# WRONG: the tiles above the diagonal are read, too
my_flops = 256 * 524_288


# %% wrong_half
# WRONG: half of all tiles, without the other half of the diagonal
my_flops = 128 * 524_288


# %% wrong_one_product
# WRONG: scores only
my_flops = 136 * 262_144


# %% wrong_multiply_adds
# WRONG: multiply-adds counted once
my_flops = 136 * 524_288 // 2


# %% wrong_pairs
# WRONG: pairs of a causal mask, not tiles
my_flops = 1024 * 1025 // 2 * 4 * 32


# %% wrong_factor
# WRONG: the factor in place of the number
my_flops = 45.3


# %% wrong_zero
# WRONG: nothing
my_flops = 0


# %% wrong_negative
# WRONG: below nothing
my_flops = -71_303_168


# %% wrong_text
# WRONG: a text
my_flops = "71303168"


# %% wrong_none
# WRONG: no number
my_flops = None


# %% wrong_list
# WRONG: a list
my_flops = [71_303_168]


# %% wrong_not_a_number
# WRONG: not a number
my_flops = float("nan")


# %% wrong_infinite
# WRONG: endless
my_flops = math.inf


# === my_scores
# Scores for "Find the bug" after finish: the maximum of the last tile, not of all so far. How they are judged: tests/lessons/test_asides.py.


# %% right_large_first
# RIGHT: the largest score in the first tile
my_scores = [200, 0, 0, 0, 0, 0, 0, 0]


# %% right_large_in_the_middle
# RIGHT: after it a tile that is much lower
my_scores = [0, 0, 0, 120, 1, 2, 3, 4]


# %% right_a_later_tile_masked
# RIGHT: nothing to be seen in the second tile
my_scores = [1, 2, -math.inf, -math.inf, 3, 4, 5, 6]


# %% right_the_first_tile_masked
# RIGHT: nothing to be seen in the first tile
my_scores = (-math.inf, -math.inf, 1, 2, 3, 4, 5, 6)


# %% right_falls_by_ninety
# RIGHT: just beyond float32
my_scores = [90.0, 90.0, 0, 0, 0, 0, 0, 0]


# %% right_tensor
# RIGHT: as a tensor
my_scores = torch.tensor([1000.0, 0, 0, 0, 0, 0, 0, 0])


# %% wrong_as_released
# WRONG: the cell's own
my_scores = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]


# %% wrong_falling
# WRONG: falling, and not far
my_scores = [7, 6, 5, 4, 3, 2, 1, 0]


# %% wrong_rising_far
# WRONG: rising, however far
my_scores = [0, 100, 200, 300, 400, 500, 600, 700]


# %% wrong_large_last
# WRONG: the largest score in the last tile
my_scores = [0, 0, 0, 0, 0, 0, 0, 900]


# %% wrong_eighty
# WRONG: eighty above the next tile, which float32 can still hold
my_scores = [80, 0, 0, 0, 0, 0, 0, 0]


# %% wrong_equal
# WRONG: large and all the same
my_scores = [500] * 8


# %% wrong_one_very_low
# WRONG: a low score beside others
my_scores = [-1000, 0, 0, 0, 0, 0, 0, 0]


# %% wrong_all_masked
# WRONG: nothing to be seen at all
my_scores = [-math.inf] * 8


# %% wrong_infinite
# WRONG: no score
my_scores = [math.inf, 0, 0, 0, 0, 0, 0, 0]


# %% wrong_not_a_number
# WRONG: not a number
my_scores = [float("nan"), 0, 0, 0, 0, 0, 0, 0]


# %% wrong_seven
# WRONG: a score too few
my_scores = [200, 0, 0, 0, 0, 0, 0]


# %% wrong_none
# WRONG: nothing
my_scores = None


# %% wrong_text
# WRONG: a text of eight letters
my_scores = "20000000"


# %% wrong_words
# WRONG: a text among numbers
my_scores = ["200", 0, 0, 0, 0, 0, 0, 0]


# %% wrong_nested
# WRONG: rows of scores
my_scores = torch.full((8, 8), 200.0)


# %% wrong_beyond_float
# WRONG: a whole number that no float holds
my_scores = [10**400, 0, 0, 0, 0, 0, 0, 0]
