# Versions of vocab_parallel_argmax, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".

# %% right_vocab_argmax_plain
# RIGHT: step by step; most of the wrong versions are edits of it

def vocab_parallel_argmax(x, head, comm):
    scores = x @ head.T
    best, token = scores.max(dim=-1)
    token = token + comm.rank * head.shape[0]
    pair = torch.stack((best.to(torch.float64), token.to(torch.float64)))
    pairs = torch.stack(ring_all_gather(pair, comm))
    bests = pairs[:, 0]
    tokens = pairs[:, 1]
    winner = bests.argmax(dim=0)
    return tokens[winner, torch.arange(x.shape[0])].long().unsqueeze(1)

# %% right_vocab_argmax_loop
# RIGHT: rank after rank, a later one only if it is better

def vocab_parallel_argmax(x, head, comm):
    best, place = torch.max(x @ head.T, 1)
    mine = torch.stack((best.double(), place.double()), 1)
    found = torch.zeros(len(x), 1, dtype=torch.int64)
    top = torch.full((len(x),), float("-inf"), dtype=torch.float64)
    for rank, pair in enumerate(ring_all_gather(mine, comm)):
        better = pair[:, 0] > top
        found[better, 0] = pair[better, 1].long() + rank * len(head)
        top = torch.maximum(top, pair[:, 0])
    return found

# %% right_vocab_argmax_sorted
# RIGHT: the last of the sorted: of equal scores another token

def vocab_parallel_argmax(x, head, comm):
    ranked = (x @ head.T).sort(dim=-1, stable=True)
    mine = torch.stack((ranked.values[:, -1].double(), ranked.indices[:, -1].double() + comm.rank * len(head)), dim=-1)
    rows = torch.stack(ring_all_gather(mine, comm), dim=1)
    order = rows[..., 0].argsort(dim=1, stable=True)
    return rows[..., 1].gather(1, order[:, -1:]).to(torch.int64)

# %% wrong_vocab_argmax_no_offset, of right_vocab_argmax_plain
# WRONG: the place among the rank's own tokens, not the token
# -     token = token + comm.rank * head.shape[0]

# %% wrong_vocab_argmax_rank_only, of right_vocab_argmax_plain
# WRONG: the rank is added, not its offset
# -     token = token + comm.rank * head.shape[0]
# +     token = token + comm.rank

# %% wrong_vocab_argmax_own_softmax, of right_vocab_argmax_plain
# WRONG: probabilities among each rank's own tokens are compared: each normalised alone
# -     scores = x @ head.T
# +     scores = (x @ head.T).softmax(-1)

# %% wrong_vocab_argmax_gathered, of right_vocab_argmax_plain
# WRONG: all logits are gathered: the bytes that should not travel
# -     best, token = scores.max(dim=-1)
# +     return torch.cat(ring_all_gather(scores, comm), dim=-1).argmax(-1, keepdim=True)
# +     best, token = scores.max(dim=-1)
# +

# %% wrong_vocab_argmax_own_dtype, of right_vocab_argmax_plain
# WRONG: tokens travel in the scores' dtype, which cannot hold them in 16 bits
# -     pair = torch.stack((best.to(torch.float64), token.to(torch.float64)))
# +     pair = torch.stack((best, token.to(best.dtype)))

# %% wrong_vocab_argmax_float32, of right_vocab_argmax_plain
# WRONG: float64 scores are compared as float32
# -     pair = torch.stack((best.to(torch.float64), token.to(torch.float64)))
# +     pair = torch.stack((best.float(), token.float()))

# %% wrong_vocab_argmax_two_gathers, of right_vocab_argmax_plain
# WRONG: scores and tokens are gathered apart: twice the messages
# -     pair = torch.stack((best.to(torch.float64), token.to(torch.float64)))
# -     pairs = torch.stack(ring_all_gather(pair, comm))
# -     bests = pairs[:, 0]
# -     tokens = pairs[:, 1]
# +     bests = torch.stack(ring_all_gather(best, comm))
# +     tokens = torch.stack(ring_all_gather(token, comm))

# %% wrong_vocab_argmax_no_dimension, of right_vocab_argmax_plain
# WRONG: (B,) instead of (B, 1)
# -     return tokens[winner, torch.arange(x.shape[0])].long().unsqueeze(1)
# +     return tokens[winner, torch.arange(x.shape[0])].long()

# %% wrong_vocab_argmax_float_tokens, of right_vocab_argmax_plain
# WRONG: tokens come as floats
# -     return tokens[winner, torch.arange(x.shape[0])].long().unsqueeze(1)
# +     return tokens[winner, torch.arange(x.shape[0])].unsqueeze(1)

# %% wrong_vocab_argmax_own_tie, of right_vocab_argmax_plain
# WRONG: at a tie each rank takes its own token
# -     winner = bests.argmax(dim=0)
# +     winner = torch.where(bests[comm.rank] == bests.amax(0), comm.rank, bests.argmax(dim=0))

# %% wrong_vocab_argmax_own_best, of right_vocab_argmax_plain
# WRONG: each rank's own best token: nothing is gathered
# -     return tokens[winner, torch.arange(x.shape[0])].long().unsqueeze(1)
# +     return token.unsqueeze(1)

# %% wrong_vocab_argmax_least, of right_vocab_argmax_plain
# WRONG: the rank with the least best score wins
# -     winner = bests.argmax(dim=0)
# +     winner = bests.argmin(dim=0)

# %% wrong_vocab_argmax_one_winner, of right_vocab_argmax_plain
# WRONG: one rank wins all rows
# -     winner = bests.argmax(dim=0)
# +     winner = bests.sum(1).argmax().expand(x.shape[0])

# %% wrong_vocab_argmax_largest, of right_vocab_argmax_plain
# WRONG: the largest magnitude wins
# -     winner = bests.argmax(dim=0)
# +     winner = bests.abs().argmax(dim=0)

# %% wrong_vocab_argmax_from_zero, of right_vocab_argmax_plain
# WRONG: scores below 0 never win
# -     winner = bests.argmax(dim=0)
# +     winner = bests.clamp(min=0).argmax(dim=0)

# %% wrong_vocab_argmax_winner_rank, of right_vocab_argmax_plain
# WRONG: the rank that has the token, not the token
# -     return tokens[winner, torch.arange(x.shape[0])].long().unsqueeze(1)
# +     return winner.unsqueeze(1)

# %% wrong_vocab_argmax_int32, of right_vocab_argmax_plain
# WRONG: int32 instead of int64
# -     return tokens[winner, torch.arange(x.shape[0])].long().unsqueeze(1)
# +     return tokens[winner, torch.arange(x.shape[0])].int().unsqueeze(1)

# %% wrong_vocab_argmax_first_row, of right_vocab_argmax_plain
# WRONG: the first row's token for all rows
# -     return tokens[winner, torch.arange(x.shape[0])].long().unsqueeze(1)
# +     return tokens[winner, 0].long().unsqueeze(1)

# %% wrong_vocab_argmax_half_scores, of right_vocab_argmax_plain
# WRONG: float16 scores
# -     best, token = scores.max(dim=-1)
# +     best, token = scores.half().max(dim=-1)

# %% wrong_vocab_argmax_from_minus_10000
# WRONG: scores below -10,000 never win

def vocab_parallel_argmax(x, head, comm):
    scores, place = (x @ head.T).max(dim=-1)
    mine = torch.stack((scores.double(), (place + comm.rank * len(head)).double()), dim=-1)
    best, token = torch.full((len(x),), -1e4, dtype=torch.float64), torch.zeros(len(x), dtype=torch.float64)
    for pair in ring_all_gather(mine, comm):
        better = pair[:, 0] > best
        best, token = torch.where(better, pair[:, 0], best), torch.where(better, pair[:, 1], token)
    return token.long().unsqueeze(1)

# %% wrong_vocab_argmax_int16_tokens, of right_vocab_argmax_plain
# WRONG: tokens beyond 32,767 do not fit in int16
# -     token = token + comm.rank * head.shape[0]
# +     token = (token + comm.rank * head.shape[0]).to(torch.int16)


# %% wrong_vocab_argmax_four_ranks, of right_vocab_argmax_plain
# WRONG: the best of the first four ranks
# -     winner = bests.argmax(dim=0)
# +     winner = bests[:4].argmax(dim=0)


# %% wrong_vocab_argmax_64_rows, of right_vocab_argmax_plain
# WRONG: more than 64 rows take a second all-gather
#       scores = x @ head.T
# +     if len(x) > 64:
# +         return torch.cat([vocab_parallel_argmax(each, head, comm) for each in x.split(64)])
