# FLOPs that refute "FlashAttention makes attention linear in the length of the text". How they are judged: tests/test_asides.py.


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
