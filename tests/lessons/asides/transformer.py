# === colleagues_block
# Repairs of a layer that counts for itself, in the lesson's cell of the transformer day. How they are judged: tests/lessons/test_asides.py.


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


# === my_counts
# Answers to "Check what you read" of the transformer day, where the weights are. How they are judged: tests/lessons/test_asides.py.


# %% right_literal
# RIGHT: the two numbers
my_counts = (49_152, 135_168)


# %% right_from_the_config
# RIGHT: from the config
c = tiny.config
heads = 2 * c.num_attention_heads * c.head_dim + 2 * c.num_key_value_heads * c.head_dim
my_counts = (c.hidden_size * heads, 3 * c.hidden_size * c.intermediate_size)


# %% right_from_the_tensors
# RIGHT: from the tensors themselves
first = tiny.weights.layers[0]
my_counts = (
    sum(w.numel() for w in (first.q_proj, first.k_proj, first.v_proj, first.o_proj)),
    sum(w.numel() for w in (first.gate_proj, first.up_proj, first.down_proj)),
)


# %% wrong_counts_as_they_are
# WRONG: the cell's own
my_counts = (0, 0)


# %% wrong_exchanged
# WRONG: in the other order
my_counts = (135_168, 49_152)


# %% wrong_no_sharing
# WRONG: as many key/value heads as query heads
my_counts = (4 * 128 * 128, 3 * 352 * 128)


# %% wrong_two_matrices
# WRONG: feed-forward without its gate
my_counts = (49_152, 2 * 352 * 128)


# %% wrong_without_output
# WRONG: o_proj is forgotten
my_counts = (128 * 128 + 2 * 64 * 128, 135_168)


# %% wrong_four_times_the_width
# WRONG: F = 4D
my_counts = (49_152, 3 * 512 * 128)


# %% wrong_all_layers
# WRONG: of all five layers
my_counts = (5 * 49_152, 5 * 135_168)


# %% wrong_with_norms
# WRONG: the two norms are counted too
my_counts = (49_152 + 128, 135_168 + 128)


# %% right_list
# RIGHT: the two in a list
my_counts = [49152, 135168]


# === my_positions
# Inputs for "Find the bug" of the transformer day, a layer that counts for itself. How they are judged: tests/lessons/test_asides.py.


# %% right_a_gap
# RIGHT: the last one stands further on
my_positions = [0, 1, 7]


# %% right_every_second
# RIGHT: every second position
my_positions = list(range(0, 40, 2))


# %% right_first_apart
# RIGHT: the first token, and then a run much later
my_positions = [0, 100, 101, 102]


# %% wrong_positions_as_they_are
# WRONG: the cell's own
my_positions = [57, 58, 59]


# %% wrong_from_zero
# WRONG: what the layer counts itself
my_positions = [0, 1, 2, 3, 4]


# %% wrong_far_run
# WRONG: a run of neighbours, far on
my_positions = list(range(2_000, 2_008))


# %% wrong_falling
# WRONG: positions that fall
my_positions = [7, 1, 0]


# %% wrong_all_alike
# WRONG: all tokens in one place
my_positions = [5, 5, 5]


# %% wrong_two
# WRONG: two only
my_positions = [0, 9]


# %% wrong_negative
# WRONG: before the text begins
my_positions = [-3, 0, 5]


# %% wrong_one
# WRONG: a single token reads itself, wherever it stands
my_positions = [57]


# %% wrong_nan
# WRONG: a position that is none
my_positions = [0, 1, float("nan")]


# %% wrong_inf
# WRONG: a position that is none
my_positions = [0, 1, float("inf")]


# %% right_tensor
# RIGHT: a tensor of positions
my_positions = torch.tensor([3, 4, 9])


# %% right_range
# RIGHT: a range with steps
my_positions = range(0, 9, 3)


# %% right_far_gap
# RIGHT: neighbours, and the last one as far as the cell takes
my_positions = (0, 1, 1_000_000)


# %% wrong_none
# WRONG: nothing
my_positions = None


# %% wrong_text
# WRONG: text
my_positions = "0, 1, 7"


# %% wrong_one_number
# WRONG: a number, not a list
my_positions = 57


# %% wrong_empty
# WRONG: no positions
my_positions = []


# %% wrong_nested
# WRONG: a list in a list
my_positions = [[0, 1, 7]]


# %% wrong_floats
# WRONG: numbers that are no places
my_positions = [0.0, 1.0, 7.0]


# %% wrong_truth_values
# WRONG: truth values for places
my_positions = [False, True, 7]


# %% wrong_too_many
# WRONG: more than the cell takes
my_positions = range(0, 1_000_000, 2)


# %% wrong_tensors_of_many
# WRONG: entries that are tensors
my_positions = [torch.arange(3), torch.arange(3), torch.arange(3)]


# === my_x
# Inputs for "Find the bug" of the transformer day, eps outside the root. How they are judged: tests/lessons/test_asides.py.


# %% right_thousandths
# RIGHT: the lesson's table
my_x = [0.003, 0.004]


# %% right_one_entry
# RIGHT: a vector of one small entry
my_x = [-0.001]


# %% right_tiny
# RIGHT: far below the root of eps
my_x = [1e-5, -2e-5, 3e-5]


# %% right_many
# RIGHT: as wide as SmolLM2's
my_x = [0.002 * (-1) ** i for i in range(576)]


# %% wrong_x_as_it_is
# WRONG: the cell's own
my_x = [3.0, 4.0]


# %% wrong_large
# WRONG: large entries
my_x = [3e6, 4e6]


# %% wrong_zeros
# WRONG: zeros are zeros in both
my_x = [0.0, 0.0, 0.0]


# %% wrong_tenths
# WRONG: not small enough
my_x = [0.3, 0.4]


# %% wrong_one_large_among_small
# WRONG: the mean of the squares is what counts, and one entry is large
my_x = [5.0, 0.001, 0.001]


# %% wrong_nan
# WRONG: not a number
my_x = [math.nan, 0.001]


# %% wrong_empty
# WRONG: no entries
my_x = []


# === qk_norm_block
# Answers to the challenge of the transformer day. How they are judged: tests/lessons/test_asides.py.


# %% right_written_out
# RIGHT: the layer, with two lines more
def qk_norm_block(x, layer, config, positions, q_norm, k_norm):
    H, K, eps = config.num_attention_heads, config.num_key_value_heads, config.rms_norm_eps
    h = rms_norm(x, layer.input_layernorm, eps)
    q, k, v = (split_heads(h @ w.T, n) for w, n in ((layer.q_proj, H), (layer.k_proj, K), (layer.v_proj, K)))
    q, k = rms_norm(q, q_norm, eps), rms_norm(k, k_norm, eps)
    q, k = rotary(q, positions, config.rope_theta), rotary(k, positions, config.rope_theta)
    T = x.shape[1]
    x = x + merge_heads(attention(q, k, v, causal_mask(T, T))) @ layer.o_proj.T
    return x + feed_forward(rms_norm(x, layer.post_attention_layernorm, eps), layer.gate_proj, layer.up_proj, layer.down_proj)


# %% right_turned_back
# RIGHT: through attend: turn back, norm, turn again
def qk_norm_block(x, layer, config, positions, q_norm, k_norm):
    def normed(y, weight):
        back = rotary(y, -positions, config.rope_theta)
        return rotary(rms_norm(back, weight, config.rms_norm_eps), positions, config.rope_theta)

    def attend(q, k, v):
        T = q.shape[2]
        return attention(normed(q, q_norm), normed(k, k_norm), v, causal_mask(T, T))

    return decoder_block(x, layer, config, positions, attend)


# %% right_by_hand
# RIGHT: the norms of the heads written out
def qk_norm_block(x, layer, config, positions, q_norm, k_norm):
    eps, Dh = config.rms_norm_eps, config.head_dim
    B, T, _ = x.shape
    h = rms_norm(x, layer.input_layernorm, eps)

    def heads(matrix, weight=None):
        y = (h @ matrix.T).view(B, T, -1, Dh)
        if weight is not None:
            y = y / (y.square().mean(-1, keepdim=True) + eps).sqrt() * weight
        return y.transpose(1, 2)

    q, k = (rotary(heads(m, w), positions, config.rope_theta) for m, w in ((layer.q_proj, q_norm), (layer.k_proj, k_norm)))
    x = x + merge_heads(attention(q, k, heads(layer.v_proj), causal_mask(T, T))) @ layer.o_proj.T
    return x + feed_forward(rms_norm(x, layer.post_attention_layernorm, eps), layer.gate_proj, layer.up_proj, layer.down_proj)


# %% wrong_after_turning, of right_written_out
# WRONG: normed after the turn: with unlike weights the score depends on where the text stands
# -     q, k = rms_norm(q, q_norm, eps), rms_norm(k, k_norm, eps)
# -     q, k = rotary(q, positions, config.rope_theta), rotary(k, positions, config.rope_theta)
# +     q, k = rotary(q, positions, config.rope_theta), rotary(k, positions, config.rope_theta)
# +     q, k = rms_norm(q, q_norm, eps), rms_norm(k, k_norm, eps)


# %% wrong_over_all_heads, of right_written_out
# WRONG: one norm over all heads of a token
# -     q, k = rms_norm(q, q_norm, eps), rms_norm(k, k_norm, eps)
# +     q = split_heads(rms_norm(merge_heads(q), q_norm.repeat(H), eps), H)
# +     k = split_heads(rms_norm(merge_heads(k), k_norm.repeat(K), eps), K)


# %% wrong_queries_only, of right_written_out
# WRONG: keys are left as they are
# -     q, k = rms_norm(q, q_norm, eps), rms_norm(k, k_norm, eps)
# +     q = rms_norm(q, q_norm, eps)


# %% wrong_values_too, of right_written_out
# WRONG: values are normed too
# -     q, k = rms_norm(q, q_norm, eps), rms_norm(k, k_norm, eps)
# +     q, k, v = rms_norm(q, q_norm, eps), rms_norm(k, k_norm, eps), rms_norm(v, torch.ones_like(k_norm), eps)


# %% wrong_one_weight, of right_written_out
# WRONG: the queries' weight for both
# -     q, k = rms_norm(q, q_norm, eps), rms_norm(k, k_norm, eps)
# +     q, k = rms_norm(q, q_norm, eps), rms_norm(k, q_norm, eps)


# %% wrong_no_weights, of right_written_out
# WRONG: the weights are left out
# -     q, k = rms_norm(q, q_norm, eps), rms_norm(k, k_norm, eps)
# +     q, k = rms_norm(q, torch.ones_like(q_norm), eps), rms_norm(k, torch.ones_like(k_norm), eps)


# %% wrong_no_norm
# WRONG: the layer as it was
def qk_norm_block(x, layer, config, positions, q_norm, k_norm):
    return decoder_block(x, layer, config, positions)


# %% wrong_no_mask, of right_written_out
# WRONG: tokens look ahead
# -     x = x + merge_heads(attention(q, k, v, causal_mask(T, T))) @ layer.o_proj.T
# +     x = x + merge_heads(attention(q, k, v)) @ layer.o_proj.T


# %% wrong_no_turn, of right_written_out
# WRONG: nothing turns
# -     q, k = rotary(q, positions, config.rope_theta), rotary(k, positions, config.rope_theta)
# +     del positions


# %% wrong_in_place, of right_written_out
# WRONG: writes into x
# -     x = x + merge_heads(attention(q, k, v, causal_mask(T, T))) @ layer.o_proj.T
# +     x += merge_heads(attention(q, k, v, causal_mask(T, T))) @ layer.o_proj.T


# %% wrong_mean_taken_away, of right_written_out
# WRONG: LayerNorm: the mean of each head is taken away
# -     q, k = rms_norm(q, q_norm, eps), rms_norm(k, k_norm, eps)
# +     q, k = (rms_norm(y - y.mean(-1, keepdim=True), w, eps) for y, w in ((q, q_norm), (k, k_norm)))


# %% wrong_swapped_weights, of right_blind
# WRONG: each has the other's weight
# -     q, k = rms_norm(q, q_norm, config.rms_norm_eps), rms_norm(k, k_norm, config.rms_norm_eps)
# +     q, k = rms_norm(q, k_norm, config.rms_norm_eps), rms_norm(k, q_norm, config.rms_norm_eps)


# %% wrong_arange
# WRONG: the positions are not handed on
def qk_norm_block(x, layer, config, positions, q_norm, k_norm):
    h = rms_norm(x, layer.input_layernorm, config.rms_norm_eps)
    q, k, v = split_heads(h @ layer.q_proj.T, config.num_attention_heads), split_heads(h @ layer.k_proj.T, config.num_key_value_heads), split_heads(h @ layer.v_proj.T, config.num_key_value_heads)
    q, k = rms_norm(q, q_norm, config.rms_norm_eps), rms_norm(k, k_norm, config.rms_norm_eps)
    T = x.shape[1]; positions = torch.arange(T)
    q, k = rotary(q, positions, config.rope_theta), rotary(k, positions, config.rope_theta)
    a = merge_heads(attention(q, k, v, causal_mask(T, T).to(x.device)))
    x = x + a @ layer.o_proj.T
    h = rms_norm(x, layer.post_attention_layernorm, config.rms_norm_eps)
    return x + feed_forward(h, layer.gate_proj, layer.up_proj, layer.down_proj)


# %% wrong_first_position, of right_blind
# WRONG: only the first position is handed on
# -     q, k = rms_norm(q, q_norm, config.rms_norm_eps), rms_norm(k, k_norm, config.rms_norm_eps)
# +     q, k = rms_norm(q, q_norm, config.rms_norm_eps), rms_norm(k, k_norm, config.rms_norm_eps)
# +     positions = positions[0] + torch.arange(len(positions))


# %% wrong_theta, of right_blind
# WRONG: the base is not the config's
# -     q, k = rotary(q, positions, config.rope_theta), rotary(k, positions, config.rope_theta)
# +     q, k = rotary(q, positions), rotary(k, positions)


# %% right_blind
# RIGHT: the layer written out, both norms before the turn
def qk_norm_block(x, layer, config, positions, q_norm, k_norm):
    h = rms_norm(x, layer.input_layernorm, config.rms_norm_eps)
    q, k, v = split_heads(h @ layer.q_proj.T, config.num_attention_heads), split_heads(h @ layer.k_proj.T, config.num_key_value_heads), split_heads(h @ layer.v_proj.T, config.num_key_value_heads)
    q, k = rms_norm(q, q_norm, config.rms_norm_eps), rms_norm(k, k_norm, config.rms_norm_eps)
    q, k = rotary(q, positions, config.rope_theta), rotary(k, positions, config.rope_theta)
    T = x.shape[1]
    a = merge_heads(attention(q, k, v, causal_mask(T, T).to(x.device)))
    x = x + a @ layer.o_proj.T
    h = rms_norm(x, layer.post_attention_layernorm, config.rms_norm_eps)
    return x + feed_forward(h, layer.gate_proj, layer.up_proj, layer.down_proj)
