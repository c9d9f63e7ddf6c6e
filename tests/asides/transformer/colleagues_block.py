# Repairs of a layer that counts for itself, in the lesson's cell of the transformer day. How they are judged: tests/test_asides.py.


# %% right_positions
# RIGHT: the positions are handed on
def colleagues_block(x, layer, config, positions, attend=None, your_block=decoder_block):
    return your_block(x, layer, config, positions, attend)


# %% right_written_out
# RIGHT: by the layer itself
def colleagues_block(x, layer, config, positions, attend=None):
    return decoder_block(x, layer, config, positions=positions, attend=attend)


# %% right_from_zero
# RIGHT: every row counted from its first position: scores know distances only
def colleagues_block(x, layer, config, positions, attend=None, your_block=decoder_block):
    return your_block(x, layer, config, positions - positions[..., :1], attend)


# %% right_each_row_alone
# RIGHT: row after row
def colleagues_block(x, layer, config, positions, attend=None, your_block=decoder_block):
    rows = positions.expand(x.shape[0], x.shape[1])
    return torch.cat([your_block(x[b : b + 1], layer, config, rows[b : b + 1], attend) for b in range(len(x))])


# %% wrong_as_it_stands
# WRONG: the colleague's own
def colleagues_block(x, layer, config, positions, attend=None, your_block=decoder_block):
    return your_block(x, layer, config, torch.arange(x.shape[1]), attend)


# %% wrong_from_the_first
# WRONG: goes on from the first position, and has no gaps
def colleagues_block(x, layer, config, positions, attend=None, your_block=decoder_block):
    first = positions.flatten()[0]
    return your_block(x, layer, config, torch.arange(first, first + x.shape[1]), attend)


# %% wrong_first_row_for_all
# WRONG: the first row's positions for all rows
def colleagues_block(x, layer, config, positions, attend=None, your_block=decoder_block):
    return your_block(x, layer, config, positions.reshape(-1)[: x.shape[1]], attend)


# %% wrong_from_the_smallest
# WRONG: counted from the smallest to the largest in even steps
def colleagues_block(x, layer, config, positions, attend=None, your_block=decoder_block):
    return your_block(x, layer, config, torch.linspace(positions.min(), positions.max(), x.shape[1]).long(), attend)


# %% wrong_sorted_backwards
# WRONG: the positions backwards
def colleagues_block(x, layer, config, positions, attend=None, your_block=decoder_block):
    return your_block(x, layer, config, positions.flip(-1), attend)


# %% wrong_gives_nothing
# WRONG: the result is not given back
def colleagues_block(x, layer, config, positions, attend=None, your_block=decoder_block):
    your_block(x, layer, config, positions, attend)


# %% wrong_not_written
# WRONG: taken out
def colleagues_block(x, layer, config, positions, attend=None, your_block=decoder_block):
    raise NotImplementedError("colleagues_block")


# %% wrong_a_name_that_is_not_there
# WRONG: a name that nobody has defined
def colleagues_block(x, layer, config, positions, attend=None, your_block=decoder_block):
    return your_block(x, layer, config, position, attend)


# %% wrong_only_one_row
# WRONG: one row of the result
def colleagues_block(x, layer, config, positions, attend=None, your_block=decoder_block):
    return your_block(x, layer, config, positions, attend)[:1]


# %% wrong_x_as_it_is
# WRONG: leaves x as it is
def colleagues_block(x, layer, config, positions, attend=None, your_block=decoder_block):
    return x
