# Versions of parallel_feed_forward, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".

# %% right_parallel_ffn_plain
# RIGHT: step by step; most of the wrong versions are edits of it

def parallel_feed_forward(x, layer, comm):
    gates = x @ layer.gate_proj.T
    ups = x @ layer.up_proj.T
    opened = gates * torch.sigmoid(gates)
    part = (opened * ups) @ layer.down_proj.T
    return ring_all_reduce(part, comm)

# %% right_parallel_ffn_torchs
# RIGHT: torch's linear and silu

def parallel_feed_forward(x, layer, comm):
    from torch.nn.functional import linear, silu

    return ring_all_reduce(linear(silu(linear(x, layer.gate_proj)) * linear(x, layer.up_proj), layer.down_proj), comm)

# %% right_parallel_ffn_rows
# RIGHT: tokens as rows of one matrix, one product for gates and ups

def parallel_feed_forward(x, layer, comm):
    rows = x.reshape(-1, x.shape[-1])
    gates, ups = (rows @ torch.cat((layer.gate_proj, layer.up_proj)).T).chunk(2, dim=-1)
    total = ring_all_reduce(torch.nn.functional.silu(gates) * ups @ layer.down_proj.T, comm)
    return total.reshape(x.shape)

# %% wrong_parallel_ffn_no_sum, of right_parallel_ffn_plain
# WRONG: the own part, not the sum over ranks
# -     return ring_all_reduce(part, comm)
# +     return part

# %% wrong_parallel_ffn_early_sum, of right_parallel_ffn_plain
# WRONG: gates and ups are summed over ranks: they are other outputs on each rank, not parts of the same
# -     gates = x @ layer.gate_proj.T
# -     ups = x @ layer.up_proj.T
# +     gates = ring_all_reduce(x @ layer.gate_proj.T, comm)
# +     ups = ring_all_reduce(x @ layer.up_proj.T, comm)

# %% wrong_parallel_ffn_two_reduces, of right_parallel_ffn_plain
# WRONG: a second all-reduce, of what is already whole
# -     return ring_all_reduce(part, comm)
# +     return ring_all_reduce(ring_all_reduce(part, comm), comm) / comm.world

# %% wrong_parallel_ffn_exponential, of right_parallel_ffn_plain
# WRONG: sigmoid is exp(z) / (1 + exp(z)), and a large gate gives inf / inf: nan
# -     opened = gates * torch.sigmoid(gates)
# +     opened = gates * (gates.exp() / (1 + gates.exp()))

# %% wrong_parallel_ffn_view, of right_parallel_ffn_rows
# WRONG: the tokens become rows by view, which raises where x is not contiguous
# -     rows = x.reshape(-1, x.shape[-1])
# +     rows = x.view(-1, x.shape[-1])

# %% wrong_parallel_ffn_residual, of right_parallel_ffn_plain
# WRONG: x is added before the sum: it counts as often as there are ranks
# -     part = (opened * ups) @ layer.down_proj.T
# +     part = x + (opened * ups) @ layer.down_proj.T

# %% wrong_parallel_ffn_residual_after, of right_parallel_ffn_plain
# WRONG: x is added after the sum, which the caller does
# -     return ring_all_reduce(part, comm)
# +     return x + ring_all_reduce(part, comm)

# %% wrong_parallel_ffn_norm_inside, of right_parallel_ffn_plain
# WRONG: x is normed, which it has been
# -     gates = x @ layer.gate_proj.T
# +     x = rms_norm(x, layer.post_attention_layernorm, 1e-5)
# +     gates = x @ layer.gate_proj.T

# %% wrong_parallel_ffn_silu_of_ups, of right_parallel_ffn_plain
# WRONG: silu is of the ups, not of the gates
# -     opened = gates * torch.sigmoid(gates)
# -     part = (opened * ups) @ layer.down_proj.T
# +     opened = ups * torch.sigmoid(ups)
# +     part = (opened * gates) @ layer.down_proj.T

# %% wrong_parallel_ffn_relu, of right_parallel_ffn_plain
# WRONG: relu, not silu
# -     opened = gates * torch.sigmoid(gates)
# +     opened = gates.relu()

# %% wrong_parallel_ffn_gather_hidden, of right_parallel_ffn_plain
# WRONG: the F numbers of all ranks are gathered, and the sum is of the own part all the same: more is sent
# -     part = (opened * ups) @ layer.down_proj.T
# +     ring_all_gather(opened * ups, comm)
# +     part = (opened * ups) @ layer.down_proj.T

# %% wrong_parallel_ffn_mean, of right_parallel_ffn_plain
# WRONG: the mean over ranks, not the sum
# -     return ring_all_reduce(part, comm)
# +     return ring_all_reduce(part, comm) / comm.world

# %% wrong_parallel_ffn_in_float32, of right_parallel_ffn_plain
# WRONG: the part is made float32 before it is sent: another number of bytes
# -     return ring_all_reduce(part, comm)
# +     return ring_all_reduce(part.float(), comm).to(x.dtype)

# %% wrong_parallel_ffn_float_result, of right_parallel_ffn_plain
# WRONG: float32 whatever the dtype was
# -     return ring_all_reduce(part, comm)
# +     return ring_all_reduce(part, comm).float()

# %% wrong_parallel_ffn_in_place, of right_parallel_ffn_plain
# WRONG: the result is written into x
# -     return ring_all_reduce(part, comm)
# +     return x.copy_(ring_all_reduce(part, comm))

# %% wrong_parallel_ffn_flat, of right_parallel_ffn_plain
# WRONG: tokens of all texts in one row
# -     return ring_all_reduce(part, comm)
# +     return ring_all_reduce(part, comm).flatten(0, 1)

# %% wrong_parallel_ffn_whole_everywhere
# WRONG: every rank gathers all matrices and computes the whole layer

def parallel_feed_forward(x, layer, comm):
    gate, up = (torch.cat(ring_all_gather(m, comm)) for m in (layer.gate_proj, layer.up_proj))
    return feed_forward(x, gate, up, torch.cat(ring_all_gather(layer.down_proj, comm), dim=1))

# %% wrong_parallel_ffn_rank_0_only, of right_parallel_ffn_plain
# WRONG: every rank sends its part to rank 0, which alone has the sum
# -     return ring_all_reduce(part, comm)
# +     if comm.rank:
# +         comm.send(0, part)
# +         return part
# +     return part + sum(comm.recv(source) for source in range(1, comm.world))

# %% wrong_parallel_ffn_scaled_weights, of right_parallel_ffn_plain
# WRONG: down_proj is changed in place
# -     part = (opened * ups) @ layer.down_proj.T
# +     part = (opened * ups) @ layer.down_proj.mul_(1.0 + 1e-12).T

# %% wrong_parallel_ffn_last_rank_doubles, of right_parallel_ffn_plain
# WRONG: one rank adds its part twice
# -     return ring_all_reduce(part, comm)
# +     return ring_all_reduce(part * (2 if comm.rank == comm.world - 1 > 0 else 1), comm)

# %% wrong_parallel_ffn_work_twice, of right_parallel_ffn_plain
# WRONG: the up product is made twice: more work than needed
# -     ups = x @ layer.up_proj.T
# +     ups = (x @ layer.up_proj.T + x @ layer.up_proj.T) / 2

# %% wrong_parallel_ffn_remembered, of right_parallel_ffn_plain
# WRONG: the first layer's gates are used in every layer
# -     gates = x @ layer.gate_proj.T
# +     known = parallel_feed_forward.__dict__.setdefault((comm.rank, layer.gate_proj.shape, layer.gate_proj.dtype), layer.gate_proj)
# +     gates = x @ known.T

# %% wrong_parallel_ffn_one_text_after_another, of right_parallel_ffn_plain
# WRONG: an all-reduce for each text of the batch
# -     return ring_all_reduce(part, comm)
# +     return torch.stack([ring_all_reduce(text, comm) for text in part])

# %% wrong_parallel_ffn_own_order, of right_parallel_ffn_plain
# WRONG: parts are gathered and added up: more bytes with three ranks and more
# -     return ring_all_reduce(part, comm)
# +     return torch.stack(ring_all_gather(part, comm)).sum(0)


# %% wrong_parallel_ffn_four_ranks, of right_parallel_ffn_plain
# WRONG: with more than four ranks the parts are gathered: more is sent than one all-reduce
#       part = (opened * ups) @ layer.down_proj.T
# +     if comm.world > 4:
# +         return sum(ring_all_gather(part, comm))


# %% wrong_parallel_ffn_64_tokens, of right_parallel_ffn_plain
# WRONG: texts of more than 64 tokens take an all-reduce for each 64 of them
#       part = (opened * ups) @ layer.down_proj.T
# +     if part.shape[1] > 64:
# +         return torch.cat([ring_all_reduce(each, comm) for each in part.split(64, dim=1)], dim=1)
