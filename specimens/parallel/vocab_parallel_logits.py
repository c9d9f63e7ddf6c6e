# Versions of vocab_parallel_logits, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".

# %% right_vocab_logits_plain
# RIGHT: step by step; most of the wrong versions are edits of it

def vocab_parallel_logits(x, head, comm):
    mine = x @ head.T
    every = ring_all_gather(mine, comm)
    return torch.cat(every, dim=-1)

# %% right_vocab_logits_moved
# RIGHT: gathered with the ids in front

def vocab_parallel_logits(x, head, comm):
    mine = torch.nn.functional.linear(x, head).movedim(-1, 0)
    return torch.cat(ring_all_gather(mine, comm)).movedim(0, -1)

# %% right_vocab_logits_stacked
# RIGHT: stacked after the scores of each position, and flattened

def vocab_parallel_logits(x, head, comm):
    return torch.stack(ring_all_gather(torch.einsum("...d,vd->...v", x, head), comm), dim=-2).flatten(-2)

# %% wrong_vocab_logits_rows, of right_vocab_logits_plain
# WRONG: the ranks' scores are under one another
# -     return torch.cat(every, dim=-1)
# +     return torch.cat(every, dim=0)

# %% wrong_vocab_logits_dim_1, of right_vocab_logits_plain
# WRONG: joined along dimension 1, which are positions where there are three
# -     return torch.cat(every, dim=-1)
# +     return torch.cat(every, dim=1)

# %% wrong_vocab_logits_own_only, of right_vocab_logits_plain
# WRONG: the own tokens' scores only
# -     return torch.cat(every, dim=-1)
# +     return mine

# %% wrong_vocab_logits_summed, of right_vocab_logits_plain
# WRONG: scores of other tokens are added up
# -     return torch.cat(every, dim=-1)
# +     return sum(every)

# %% wrong_vocab_logits_own_first, of right_vocab_logits_plain
# WRONG: the own tokens come first: another order on every rank
# -     return torch.cat(every, dim=-1)
# +     return torch.cat(every[comm.rank :] + every[: comm.rank], dim=-1)

# %% wrong_vocab_logits_reversed, of right_vocab_logits_plain
# WRONG: the last rank's tokens come first
# -     return torch.cat(every, dim=-1)
# +     return torch.cat(every[::-1], dim=-1)

# %% wrong_vocab_logits_head_gathered, of right_vocab_logits_plain
# WRONG: the weights travel, not the scores
# -     mine = x @ head.T
# -     every = ring_all_gather(mine, comm)
# -     return torch.cat(every, dim=-1)
# +     return x @ torch.cat(ring_all_gather(head, comm)).T

# %% wrong_vocab_logits_softmax, of right_vocab_logits_plain
# WRONG: probabilities of each rank's own tokens, not scores
# -     mine = x @ head.T
# +     mine = (x @ head.T).softmax(-1)

# %% wrong_vocab_logits_reduced, of right_vocab_logits_plain
# WRONG: an all-reduce of the whole row, with zeros elsewhere: twice the bytes
# -     every = ring_all_gather(mine, comm)
# -     return torch.cat(every, dim=-1)
# +     whole = mine.new_zeros(*mine.shape[:-1], mine.shape[-1] * comm.world)
# +     whole[..., comm.rank * mine.shape[-1] : (comm.rank + 1) * mine.shape[-1]] = mine
# +     return ring_all_reduce(whole, comm)

# %% wrong_vocab_logits_float, of right_vocab_logits_plain
# WRONG: scores are made float32
# -     mine = x @ head.T
# +     mine = (x @ head.T).float()

# %% wrong_vocab_logits_last_position, of right_vocab_logits_plain
# WRONG: of three dimensions only the last position is scored
# -     mine = x @ head.T
# +     mine = (x[:, -1] if x.dim() == 3 else x) @ head.T

# %% wrong_vocab_logits_interleaved, of right_vocab_logits_plain
# WRONG: one token of each rank in turn
# -     return torch.cat(every, dim=-1)
# +     return torch.stack(every, dim=-1).flatten(-2)

# %% wrong_vocab_logits_rank_0_only, of right_vocab_logits_plain
# WRONG: the scores are sent to rank 0 only
# -     every = ring_all_gather(mine, comm)
# -     return torch.cat(every, dim=-1)
# +     if comm.rank:
# +         comm.send(0, mine)
# +         return mine
# +     return torch.cat([mine] + [comm.recv(source) for source in range(1, comm.world)], dim=-1)

# %% wrong_vocab_logits_each_row, of right_vocab_logits_plain
# WRONG: an all-gather for each row: more messages
# -     every = ring_all_gather(mine, comm)
# -     return torch.cat(every, dim=-1)
# +     return torch.stack([torch.cat(ring_all_gather(row, comm), dim=-1) for row in mine])

# %% wrong_vocab_logits_scaled, of right_vocab_logits_plain
# WRONG: divided by the root of D
# -     mine = x @ head.T
# +     mine = x @ head.T / x.shape[-1] ** 0.5

# %% wrong_vocab_logits_two_dimensions, of right_vocab_logits_plain
# WRONG: the positions of all texts under one another
# -     return torch.cat(every, dim=-1)
# +     return torch.cat(every, dim=-1).flatten(0, -2)

# %% wrong_vocab_logits_own_bits, of right_vocab_logits_plain
# WRONG: the own tokens' scores are kept before they are rounded: other bits than those sent
# -     return torch.cat(every, dim=-1)
# +     every[comm.rank] = mine * (1 + torch.finfo(mine.dtype).eps * (comm.world > 1))
# +     return torch.cat(every, dim=-1)


# %% wrong_vocab_logits_four_ranks, of right_vocab_logits_plain
# WRONG: four ranks at most have scores
# -     return torch.cat(every, dim=-1)
# +     return torch.cat(every[:4] + [torch.zeros_like(each) for each in every[4:]], dim=-1)


# %% wrong_vocab_logits_four_dimensions, of right_vocab_logits_plain
# WRONG: of x with four dimensions the first two are merged
# -     return torch.cat(every, dim=-1)
# +     return torch.cat(every, dim=-1).flatten(0, max(0, x.dim() - 3))


# %% wrong_vocab_logits_many, of right_vocab_logits_plain
# WRONG: more than 4,096 scores are sent as bfloat16
# -     every = ring_all_gather(mine, comm)
# +     every = [each.to(x.dtype) for each in ring_all_gather(mine.bfloat16() if mine.numel() > 4096 else mine, comm)]
