# === my_logits
# Answers to "Check what you read" of the samplers day, a temperature that gives to all the others. How they are judged: tests/lessons/test_asides.py.


# %% right_two_good_ones
# RIGHT: the second falls with the first
my_logits = [2.0, 1.9, 0.0, 0.0, 0.0]


# %% right_wide
# RIGHT: many poor ones
my_logits = [8.0, 7.0] + [0.0] * 1000


# %% right_best_last
# RIGHT: the best need not come first
my_logits = [-1.0] * 30 + [3.5, 4.0]


# %% right_whole_numbers
# RIGHT: integers
my_logits = [6, 5] + 200 * [0]


# %% wrong_logits_as_they_are
# WRONG: the cell's own
my_logits = [2.0, -1.5, 0.3, 4.2, -0.8]


# %% wrong_two_tokens
# WRONG: of two the second gains
my_logits = [2.0, 1.0]


# %% wrong_ties_for_the_best
# WRONG: both are the best
my_logits = [2.0, 2.0, 0.0, 0.0, 0.0]


# %% wrong_all_equal
# WRONG: nothing moves
my_logits = [1.0, 1.0, 1.0, 1.0]


# %% wrong_one_token
# WRONG: one token has it all
my_logits = [3.0]


# %% wrong_empty
# WRONG: no tokens
my_logits = []


# %% wrong_nan
# WRONG: not a number
my_logits = [2.0, math.nan, 0.0, 0.0]


# %% wrong_infinite
# WRONG: a forbidden token is no fair test
my_logits = [2.0, 1.9, 0.0, 0.0, -math.inf]


# %% wrong_far_ahead
# WRONG: the best is so far ahead that all others gain
my_logits = [20.0, 5.0, 1.0, 0.0]


# %% right_by_a_hair
# RIGHT: the second is behind the best, by however little, and loses
my_logits = [2.0, 1.9999, 0.0, 0.0, 0.0]


# %% wrong_three_best
# WRONG: all that lose are as good as the best
my_logits = [2.0, 2.0, 2.0, 0.0, 0.0]


# %% right_near_tie
# RIGHT: behind the best by half a thousandth
my_logits = [2.0, 1.9995, 0.0, 0.0, 0.0]


# === my_probs
# Inputs for "Find the bug" of the samplers day, the token that crosses p is dropped. How they are judged: tests/lessons/test_asides.py.


# %% right_three
# RIGHT: the second crosses
my_probs = [0.5, 0.3, 0.2]


# %% right_even
# RIGHT: twenty alike
my_probs = [0.04] * 25


# %% right_two
# RIGHT: two alike
my_probs = [0.5, 0.5]


# %% right_out_of_order
# RIGHT: the crossing token stands first
my_probs = [0.2, 0.1, 0.3, 0.4]


# %% right_situation_b
# RIGHT: the lesson's places, and a tail
my_probs = [0.08, 0.07, 0.06, 0.05, 0.04, 0.04, 0.03] + [0.0063] * 100


# %% wrong_probs_as_they_are
# WRONG: the cell's own
my_probs = [0.0971, 0.0029, 0.0177, 0.8764, 0.0059]


# %% wrong_paris
# WRONG: the first alone has it
my_probs = [0.97, 0.01, 0.008, 0.012]


# %% wrong_exactly_p
# WRONG: the first has p exactly
my_probs = [0.75, 0.25]


# %% wrong_exactly_p_with_two
# WRONG: two have p exactly, so that nothing crosses
my_probs = [0.5, 0.25, 0.25]


# %% wrong_one
# WRONG: one token
my_probs = [1.0]


# %% wrong_empty
# WRONG: none
my_probs = []


# %% wrong_no_distribution
# WRONG: they sum to less than p
my_probs = [0.3, 0.2]


# %% wrong_negative
# WRONG: a negative one
my_probs = [0.6, 0.6, -0.2]


# %% wrong_nan
# WRONG: not a number
my_probs = [math.nan, 0.5, 0.5]


# %% wrong_a_zero
# WRONG: a token that cannot come, and the first alone has it
my_probs = [0.0, 0.9, 0.1]


# %% wrong_infinite
# WRONG: no number
my_probs = [math.inf, 0.5]


# %% wrong_short
# WRONG: brought to a sum of 1 the mass is reached
my_probs = [0.7496, 0.2496]


# === my_row
# Inputs for "Find the bug" of the samplers day, the last id where no sum exceeds u. How they are judged: tests/lessons/test_asides.py.


# %% right_a_little_less
# RIGHT: ends below 1, a cut token behind
my_row = [0.5, 0.4999999, 0.0]


# %% right_two_cut
# RIGHT: several cut tokens behind
my_row = [0.25, 0.25, 0.25, 0.2499999, 0.0, 0.0]


# %% right_one
# RIGHT: a single share
my_row = [0.9999998, 0.0]


# %% right_out_of_a_softmax
# RIGHT: what rounding makes of a distribution
my_row = next(
    row
    for row in (softmax(3 * torch.randn(200, 60, generator=torch.Generator().manual_seed(0)))).tolist()
    if sum(row) <= 1 - 2**-24
) + [0.0]


# %% wrong_row_as_it_is
# WRONG: the cell's own
my_row = [0.5, 0.25, 0.25, 0.0]


# %% wrong_last_has_a_share
# WRONG: ends below 1, but the last token was not cut
my_row = [0.5, 0.4999999]


# %% wrong_cut_in_the_middle
# WRONG: the cut token stands in the middle
my_row = [0.5, 0.0, 0.4999999]


# %% wrong_cut_in_front
# WRONG: the cut token stands first
my_row = [0.0, 0.5, 0.4999999]


# %% wrong_no_distribution
# WRONG: nobody calls this a distribution
my_row = [0.5, 0.4, 0.0]


# %% wrong_zeros
# WRONG: no shares at all
my_row = [0.0, 0.0]


# %% wrong_empty
# WRONG: no tokens
my_row = []


# %% wrong_negative
# WRONG: a negative share
my_row = [1.5, -0.5000001, 0.0]


# %% wrong_nan
# WRONG: not a number
my_row = [0.5, math.nan, 0.0]


# %% wrong_too_little
# WRONG: a little more than a millionth is missing
my_row = [0.5, 0.499998, 0.0]


# %% wrong_above_one
# WRONG: ends above 1
my_row = [0.5, 0.5000005, 0.0]


# %% right_millionth
# RIGHT: a millionth is missing
my_row = [0.5, 0.499999, 0.0]


# %% right_many
# RIGHT: a millionth is missing
my_row = [0.0999999] * 10 + [0.0] * 5


# === race
# Answers to the challenge of the samplers day. How they are judged: tests/lessons/test_asides.py.


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
