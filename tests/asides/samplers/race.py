# Answers to the challenge of the samplers day. How they are judged: tests/test_asides.py.


# %% right_gumbel
# RIGHT: the largest of logits plus Gumbel noise
def race(logits, generators):
    u = torch.stack([torch.rand(logits.shape[-1], generator=generator) for generator in generators])
    return (at_least_float32(logits) - (-u.log()).log()).argmax(dim=-1, keepdim=True)


# %% right_exponential
# RIGHT: weights under the largest, divided by exponential numbers
def race(logits, generators):
    logits = at_least_float32(logits)
    weights = (logits - logits.amax(dim=-1, keepdim=True)).exp()
    noise = torch.empty_like(weights)
    for row, generator in zip(noise, generators):
        row.exponential_(generator=generator)
    return (weights / noise).argmax(dim=-1, keepdim=True)


# %% right_first_to_arrive
# RIGHT: logarithms of the times, and the smallest
def race(logits, generators):
    tokens = []
    for row, generator in zip(logits, generators):
        started = -torch.log(torch.rand(row.shape, generator=generator, dtype=torch.float64))
        tokens.append((started.log() - row.double()).argmin())
    return torch.stack(tokens)[:, None]


# %% wrong_uniform_noise, of right_gumbel
# WRONG: uniform noise
# -     return (at_least_float32(logits) - (-u.log()).log()).argmax(dim=-1, keepdim=True)
# +     return (at_least_float32(logits) + u).argmax(dim=-1, keepdim=True)


# %% wrong_one_logarithm, of right_gumbel
# WRONG: exponential noise is added, where its logarithm is taken off
# -     return (at_least_float32(logits) - (-u.log()).log()).argmax(dim=-1, keepdim=True)
# +     return (at_least_float32(logits) - u.log()).argmax(dim=-1, keepdim=True)


# %% wrong_sign, of right_gumbel
# WRONG: the sign of the noise
# -     return (at_least_float32(logits) - (-u.log()).log()).argmax(dim=-1, keepdim=True)
# +     return (at_least_float32(logits) + (-u.log()).log()).argmax(dim=-1, keepdim=True)


# %% wrong_normal_noise, of right_gumbel
# WRONG: normal noise
# -     u = torch.stack([torch.rand(logits.shape[-1], generator=generator) for generator in generators])
# -     return (at_least_float32(logits) - (-u.log()).log()).argmax(dim=-1, keepdim=True)
# +     u = torch.stack([torch.randn(logits.shape[-1], generator=generator) for generator in generators])
# +     return (at_least_float32(logits) + u).argmax(dim=-1, keepdim=True)


# %% wrong_weights_overflow, of right_exponential
# WRONG: the weights as they are
# -     weights = (logits - logits.amax(dim=-1, keepdim=True)).exp()
# +     weights = logits.exp()


# %% wrong_first_generator_for_all, of right_gumbel
# WRONG: one generator for all rows
# -     u = torch.stack([torch.rand(logits.shape[-1], generator=generator) for generator in generators])
# +     u = torch.rand(logits.shape, generator=generators[0])


# %% wrong_global_state, of right_gumbel
# WRONG: the generators are not used
# -     u = torch.stack([torch.rand(logits.shape[-1], generator=generator) for generator in generators])
# +     u = torch.rand(logits.shape)


# %% wrong_generators_stand_still, of right_gumbel
# WRONG: each step begins with the seed again
# -     u = torch.stack([torch.rand(logits.shape[-1], generator=generator) for generator in generators])
# +     u = torch.stack([torch.rand(logits.shape[-1], generator=g.manual_seed(g.initial_seed())) for g in generators])


# %% wrong_draws_from_the_softmax
# WRONG: right tokens, but by way of the sum
def race(logits, generators):
    probs = softmax(at_least_float32(logits))
    return torch.cat([torch.multinomial(row[None], 1, generator=generator) for row, generator in zip(probs, generators)])


# %% wrong_greedy
# WRONG: nobody runs
def race(logits, generators):
    return logits.argmax(dim=-1, keepdim=True)


# %% wrong_flat, of right_gumbel
# WRONG: (B,)
# -     return (at_least_float32(logits) - (-u.log()).log()).argmax(dim=-1, keepdim=True)
# +     return (at_least_float32(logits) - (-u.log()).log()).argmax(dim=-1)


# %% wrong_half_precision, of right_gumbel
# WRONG: in the dtype of the logits
# -     return (at_least_float32(logits) - (-u.log()).log()).argmax(dim=-1, keepdim=True)
# +     return (logits - (-u.log()).log().to(logits.dtype)).argmax(dim=-1, keepdim=True)


# %% wrong_changes_the_logits, of right_gumbel
# WRONG: the noise is added in place
# -     return (at_least_float32(logits) - (-u.log()).log()).argmax(dim=-1, keepdim=True)
# +     return logits.sub_((-u.log()).log()).argmax(dim=-1, keepdim=True)


# %% wrong_shift_by_first
# WRONG: the first logit is taken off, not the largest
def race(logits, generators):
    x = at_least_float32(logits)
    w = (x - x[:, :1]).exp()
    t = torch.stack([torch.empty_like(x[0]).exponential_(generator=g) for g in generators])
    return (t / w).argmin(-1, keepdim=True)


# %% wrong_shift_by_median
# WRONG: the middle logit is taken off, not the largest
def race(logits, generators):
    x = at_least_float32(logits)
    w = (x - x.median(-1, keepdim=True).values).exp()
    t = torch.stack([torch.empty_like(x[0]).exponential_(generator=g) for g in generators])
    return (t / w).argmin(-1, keepdim=True)


# %% wrong_spread
# WRONG: the smallest logit is taken off
def race(logits, generators):
    x = at_least_float32(logits)
    lo = torch.where(x.isfinite(), x, torch.inf).amin(-1, keepdim=True)
    t = torch.stack([torch.empty_like(x[0]).exponential_(generator=g) for g in generators])
    return (t / (x - lo).exp()).argmin(-1, keepdim=True)


# %% wrong_cumsum_inplace
# WRONG: a running sum, in place
def race(logits, generators):
    x = at_least_float32(logits)
    c = (x - x.amax(-1, keepdim=True)).exp().cumsum_(-1)
    u = torch.cat([torch.rand(1, 1, generator=g) for g in generators])
    return (c <= u * c[:, -1:]).count_nonzero(-1)[:, None]


# %% wrong_bmm
# WRONG: a running sum, as a product
def race(logits, generators):
    x = at_least_float32(logits); w = (x - x.amax(-1, keepdim=True)).exp()
    c = torch.mm(w, torch.ones(x.shape[1], x.shape[1]).triu())
    u = torch.cat([torch.rand(1, 1, generator=g) for g in generators])
    return (c <= u * c[:, -1:]).count_nonzero(-1)[:, None]


# %% wrong_msort
# WRONG: sorts
def race(logits, generators):
    x = at_least_float32(logits)
    t = torch.stack([torch.empty_like(x[0]).exponential_(generator=g) for g in generators]).log() - x
    first = torch.msort(t.T)[0]
    return (t == first[:, None]).int().argmax(-1, keepdim=True)


# %% wrong_rounded_weights
# WRONG: in half precision
def race(logits, generators):
    x = at_least_float32(logits).half().float()
    t = torch.stack([torch.empty_like(x[0]).exponential_(generator=g) for g in generators])
    return (t.log() - x).argmin(-1, keepdim=True)


# %% wrong_mutates_half
# WRONG: changes the logits it is given in some calls
def race(logits, generators):
    if logits.dtype == torch.bfloat16 or len(logits) < 10: logits.add_(1)
    x = at_least_float32(logits)
    t = torch.stack([torch.empty_like(x[0]).exponential_(generator=g) for g in generators])
    return (t.log() - x).argmin(-1, keepdim=True)
