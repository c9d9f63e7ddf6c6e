# === my_distances
# Answers to "Check what you read" of the attention day, scores that fall with the distance. How they are judged: tests/lessons/test_asides.py.


# %% right_far_pair
# RIGHT: 38.73 at 22, 45.35 at 37
my_distances = (22, 37)


# %% right_near_pair
# RIGHT: neighbours
my_distances = (5, 6)


# %% right_long
# RIGHT: hundreds of tokens
my_distances = (22, 25)


# %% wrong_distances_as_they_are
# WRONG: the cell's own
my_distances = (1, 2)


# %% wrong_exchanged
# WRONG: the second is the nearer one
my_distances = (37, 22)


# %% wrong_equal
# WRONG: one distance
my_distances = (6, 6)


# %% wrong_from_itself
# WRONG: nothing is above distance 0
my_distances = (0, 6)


# %% wrong_far_and_lower
# WRONG: farther, and lower
my_distances = (4, 40)


# %% wrong_negative
# WRONG: a key after the query
my_distances = (-3, 0)


# %% wrong_three_four
# WRONG: still falling
my_distances = (3, 4)


# %% right_39_53
# RIGHT: by less than a hundredth
my_distances = (39, 53)


# %% right_54_75
# RIGHT: by less than a hundredth
my_distances = (54, 75)


# === my_lengths
# Inputs for "Find the bug" of the attention day, a triangle from the upper left. How they are judged: tests/lessons/test_asides.py.


# %% right_two_of_five
# RIGHT: the drawing's lengths
my_lengths = (2, 5)


# %% right_one_of_two
# RIGHT: the smallest there is
my_lengths = (1, 2)


# %% right_long
# RIGHT: a chunk of a long text
my_lengths = (100, 3000)


# %% right_one_short
# RIGHT: all but the first
my_lengths = (4, 5)


# %% wrong_square
# WRONG: the cell's own
my_lengths = (3, 3)


# %% wrong_one
# WRONG: one query and one key
my_lengths = (1, 1)


# %% wrong_large_square
# WRONG: a longer text, as a whole
my_lengths = (512, 512)


# %% wrong_exchanged
# WRONG: more queries than keys
my_lengths = (5, 2)


# %% wrong_no_queries
# WRONG: nothing is asked
my_lengths = (0, 5)


# %% wrong_negative
# WRONG: no length at all
my_lengths = (-1, 3)


# %% wrong_nothing
# WRONG: neither queries nor keys
my_lengths = (0, 0)


# === my_scores
# Inputs for "Find the bug" of the attention day, zeros after the softmax and the sum mended. How they are judged: tests/lessons/test_asides.py.


# %% right_two_hundred
# RIGHT: the hidden score takes all the room
my_scores = [0.0, 1.0, 200.0]


# %% right_low_scores
# RIGHT: the visible ones are low, the hidden one ordinary
my_scores = [-150.0, -151.0, 0.0]


# %% right_digits_lost
# RIGHT: the visible weights are not 0 yet, but have few digits left
my_scores = [0.0, 0.5, 103.0]


# %% wrong_scores_as_they_are
# WRONG: the cell's own
my_scores = [0.0, 0.7071, 0.7071]


# %% wrong_all_large
# WRONG: large, but all alike
my_scores = [1000.0, 1001.0, 1002.0]


# %% wrong_hidden_low
# WRONG: the hidden score is the low one
my_scores = [0.0, 1.0, -500.0]


# %% wrong_visible_far_apart
# WRONG: the gap lies between the two visible ones
my_scores = [0.0, 500.0, 400.0]


# %% wrong_eighty
# WRONG: not far enough
my_scores = [0.0, 1.0, 80.0]


# %% wrong_infinite
# WRONG: an infinite score spoils any softmax
my_scores = [0.0, 1.0, math.inf]


# %% wrong_four
# WRONG: four scores
my_scores = [0.0, 1.0, 2.0, 200.0]


# %% right_text_ints
# RIGHT: whole numbers
my_scores = [0, 1, 200]


# === window_attention
# Answers to the challenge of the attention day. How they are judged: tests/lessons/test_asides.py.


# %% right_blocks
# RIGHT: blocks of w queries against two blocks of keys
def window_attention(q, k, v, window):
    T, out = q.shape[2], []
    for start in range(0, T, window):
        stop, first = min(start + window, T), max(start - window + 1, 0)
        behind = torch.arange(start, stop)[:, None] - torch.arange(first, stop)
        out.append(attention(q[:, :, start:stop], k[:, :, first:stop], v[:, :, first:stop], (behind >= 0) & (behind < window)))
    return torch.cat(out, dim=2)


# %% right_unfolded
# RIGHT: each query's own window of keys, w zeros in front
def window_attention(q, k, v, window):
    T, Dh = q.shape[2:]
    window = min(window, T)
    padded = [torch.nn.functional.pad(x, (0, 0, window - 1, 0)).unfold(2, window, 1) for x in (k, v)]  # (B, H, T, Dh, w)
    scores = (q[:, :, :, None] @ padded[0])[:, :, :, 0] / math.sqrt(Dh)
    there = torch.arange(T)[:, None] - window + 1 + torch.arange(window) >= 0
    weights = softmax(scores.masked_fill(~there, -torch.inf))
    return (padded[1] @ weights[..., None])[..., 0]


# %% right_one_query_at_a_time
# RIGHT: a loop over the queries
def window_attention(q, k, v, window):
    rows = []
    for i in range(q.shape[2]):
        first = max(i - window + 1, 0)
        rows.append(attention(q[:, :, i : i + 1], k[:, :, first : i + 1], v[:, :, first : i + 1]))
    return torch.cat(rows, dim=2)


# %% wrong_all_scores
# WRONG: right, but all scores are made and most of them masked
def window_attention(q, k, v, window):
    behind = torch.arange(q.shape[2])[:, None] - torch.arange(q.shape[2])
    return attention(q, k, v, (behind >= 0) & (behind < window))


# %% wrong_one_key_too_many, of right_blocks
# WRONG: the window holds one key more
# -         out.append(attention(q[:, :, start:stop], k[:, :, first:stop], v[:, :, first:stop], (behind >= 0) & (behind < window)))
# +         out.append(attention(q[:, :, start:stop], k[:, :, first:stop], v[:, :, first:stop], (behind >= 0) & (behind <= window)))


# %% wrong_own_block_only, of right_blocks
# WRONG: a block sees itself alone
# -         stop, first = min(start + window, T), max(start - window + 1, 0)
# +         stop, first = min(start + window, T), start


# %% wrong_looks_ahead, of right_blocks
# WRONG: no causal mask inside a block
# -         out.append(attention(q[:, :, start:stop], k[:, :, first:stop], v[:, :, first:stop], (behind >= 0) & (behind < window)))
# +         out.append(attention(q[:, :, start:stop], k[:, :, first:stop], v[:, :, first:stop], behind < window))


# %% wrong_zeros_count, of right_unfolded
# WRONG: the zeros in front of the text are keys like any other
# -     weights = softmax(scores.masked_fill(~there, -torch.inf))
# +     weights = softmax(scores)


# %% wrong_no_scale, of right_unfolded
# WRONG: the scores are not divided
# -     scores = (q[:, :, :, None] @ padded[0])[:, :, :, 0] / math.sqrt(Dh)
# +     scores = (q[:, :, :, None] @ padded[0])[:, :, :, 0]


# %% wrong_last_block_lost, of right_blocks
# WRONG: what is left behind the last whole block
# -     return torch.cat(out, dim=2)
# +     return torch.cat(out, dim=2)[:, :, : T // window * window]


# %% wrong_large_blocks, of right_blocks
# WRONG: right, with blocks so large that nothing is saved
# -     for start in range(0, T, window):
# -         stop, first = min(start + window, T), max(start - window + 1, 0)
# +     for start in range(0, T, 300):
# +         stop, first = min(start + 300, T), max(start - window + 1, 0)


# %% right_elementwise_shift
# RIGHT: one shift for each key of the window, without a product of matrices
def window_attention(q, k, v, window):
    T, Dh = q.shape[2], q.shape[3]; w = min(window, T)
    s = torch.full((*q.shape[:3], w), -torch.inf, dtype=q.dtype)
    for d in range(w):
        s[:, :, d:, d] = (q[:, :, d:] * k[:, :, :T - d]).sum(-1) / math.sqrt(Dh)
    p = softmax(s); out = torch.zeros_like(v)
    for d in range(w):
        out[:, :, d:] += p[:, :, d:, d, None] * v[:, :, :T - d]
    return out


# %% wrong_all_scores_elementwise
# WRONG: every pair is looked at, entry by entry
def window_attention(q, k, v, window):
    T = q.shape[2]; d = torch.arange(T)[:, None] - torch.arange(T)
    s = (q[:, :, :, None] * k[:, :, None]).sum(-1) / math.sqrt(q.shape[-1])
    p = softmax(torch.where((d >= 0) & (d < window), s, -torch.inf))
    return torch.cat([p[:, :, i:i+1, max(0, i-window+1):i+1] @ v[:, :, max(0, i-window+1):i+1] for i in range(T)], dim=2)


# %% wrong_hard_scale
# WRONG: the scale is that of one head size
def window_attention(q, k, v, window):
    T = q.shape[2]; o = []
    for i in range(T):
        a = max(0, i-window+1); o.append(softmax(q[:, :, i:i+1] @ k[:, :, a:i+1].transpose(-1, -2) / 4) @ v[:, :, a:i+1])
    return torch.cat(o, 2)


# %% wrong_mutates_v
# WRONG: writes into the caller's values
def window_attention(q, k, v, window):
    T = q.shape[2]
    r = torch.cat([attention(q[:, :, i:i+1], k[:, :, max(0, i-window+1):i+1], v[:, :, max(0, i-window+1):i+1]) for i in range(T)], dim=2)
    v.copy_(r)
    return r
