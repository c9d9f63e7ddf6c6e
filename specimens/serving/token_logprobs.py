# Versions of token_logprobs, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_token_logprobs_plain
# RIGHT: by hand; most of the wrong versions are edits of it
def token_logprobs(logits, token_id, k):
    wide = logits.double()
    logprobs = wide - wide.logsumexp(dim=-1)
    values, ids = logprobs.topk(k)
    best = [(int(i), float(value)) for value, i in zip(values, ids)]
    return float(logprobs[token_id]), best


# %% right_token_logprobs_sort
# RIGHT: everything sorted
def token_logprobs(logits, token_id, k):
    logprobs = torch.log_softmax(logits.to(torch.float64), dim=0).tolist()
    order = sorted(range(len(logprobs)), key=lambda i: -logprobs[i])
    return logprobs[token_id], [(i, logprobs[i]) for i in order[:k]]


# %% right_token_logprobs_argsort
# RIGHT: argsort from above; the largest logit taken off by hand
def token_logprobs(logits, token_id, k):
    x = logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
    x = x - x.max()
    x = x - x.exp().sum().log()
    ids = x.argsort(descending=True)[:k].tolist()
    return x[token_id].item(), [(i, x[i].item()) for i in ids]


# %% right_token_logprobs_float32, of right_token_logprobs_plain
# RIGHT: in float32, whatever the logits are in
# -     wide = logits.double()
# +     wide = logits.float()


# %% wrong_token_logprobs_logits, of right_token_logprobs_plain
# WRONG: the logits themselves
# -     logprobs = wide - wide.logsumexp(dim=-1)
# +     logprobs = wide


# %% wrong_token_logprobs_probabilities, of right_token_logprobs_plain
# WRONG: probabilities, without the logarithm
# -     logprobs = wide - wide.logsumexp(dim=-1)
# +     logprobs = (wide - wide.logsumexp(dim=-1)).exp()


# %% wrong_token_logprobs_bits, of right_token_logprobs_plain
# WRONG: in bits
# -     logprobs = wide - wide.logsumexp(dim=-1)
# +     logprobs = (wide - wide.logsumexp(dim=-1)) / math.log(2)


# %% wrong_token_logprobs_tempered, of right_token_logprobs_plain
# WRONG: after a temperature
# -     wide = logits.double()
# +     wide = logits.double() / 0.8


# %% wrong_token_logprobs_renormalised, of right_token_logprobs_plain
# WRONG: over the k best alone
# -     logprobs = wide - wide.logsumexp(dim=-1)
# +     logprobs = wide - (wide.topk(k).values if k else wide).logsumexp(dim=-1)


# %% wrong_token_logprobs_worst_first, of right_token_logprobs_plain
# WRONG: the worst of the best comes first
# -     best = [(int(i), float(value)) for value, i in zip(values, ids)]
# +     best = [(int(i), float(value)) for value, i in zip(values, ids)][::-1]


# %% wrong_token_logprobs_least, of right_token_logprobs_plain
# WRONG: the least probable
# -     values, ids = logprobs.topk(k)
# +     values, ids = logprobs.topk(k, largest=False)


# %% wrong_token_logprobs_swapped, of right_token_logprobs_plain
# WRONG: log probability and token are exchanged
# -     best = [(int(i), float(value)) for value, i in zip(values, ids)]
# +     best = [(float(value), int(i)) for value, i in zip(values, ids)]


# %% wrong_token_logprobs_one_more, of right_token_logprobs_plain
# WRONG: one more than k
# -     values, ids = logprobs.topk(k)
# +     values, ids = logprobs.topk(min(k + 1, len(logprobs)))


# %% wrong_token_logprobs_at_least_one, of right_token_logprobs_plain
# WRONG: k = 0 gives one
# -     values, ids = logprobs.topk(k)
# +     values, ids = logprobs.topk(k or 1)


# %% wrong_token_logprobs_none_for_zero, of right_token_logprobs_plain
# WRONG: k = 0 gives no list
# -     return float(logprobs[token_id]), best
# +     return float(logprobs[token_id]), best or None


# %% wrong_token_logprobs_without_the_token, of right_token_logprobs_plain
# WRONG: the token itself is left out of the best
# -     best = [(int(i), float(value)) for value, i in zip(values, ids)]
# +     best = [(int(i), float(value)) for value, i in zip(values, ids) if int(i) != token_id]


# %% wrong_token_logprobs_of_the_best, of right_token_logprobs_plain
# WRONG: the log probability of the best and not of the token
# -     return float(logprobs[token_id]), best
# +     return float(logprobs.max()), best


# %% wrong_token_logprobs_tensor, of right_token_logprobs_plain
# WRONG: a tensor in place of a number
# -     return float(logprobs[token_id]), best
# +     return logprobs[token_id], best


# %% wrong_token_logprobs_tensors_in_pairs, of right_token_logprobs_plain
# WRONG: tensors in the pairs
# -     best = [(int(i), float(value)) for value, i in zip(values, ids)]
# +     best = [(i, value) for value, i in zip(values, ids)]


# %% wrong_token_logprobs_dict, of right_token_logprobs_plain
# WRONG: a dict in place of a list of pairs
# -     return float(logprobs[token_id]), best
# +     return float(logprobs[token_id]), dict(best)


# %% wrong_token_logprobs_narrow, of right_token_logprobs_plain
# WRONG: computed in the logits' own dtype
# -     wide = logits.double()
# +     wide = logits


# %% wrong_token_logprobs_overflow
# WRONG: exp of the logits themselves: far from 0 it is infinite or nothing
def token_logprobs(logits, token_id, k):
    logits = logits.float() if logits.dtype != torch.float64 else logits
    logprobs = (logits.exp() / logits.exp().sum()).log()
    best = logprobs.topk(k)
    return logprobs[token_id].item(), list(zip(best.indices.tolist(), best.values.tolist()))


# %% wrong_token_logprobs_log_of_probs, of right_token_logprobs_plain
# WRONG: the logarithm of the softmax, in float64: minus infinity where the probability is too small for a number
# -     logprobs = wide - wide.logsumexp(dim=-1)
# +     logprobs = torch.softmax(wide, dim=-1).log()


# %% wrong_token_logprobs_log_of_probs_32, of right_token_logprobs_plain
# WRONG: the logarithm of the softmax, in float32: minus infinity where the probability is too small for a number
# -     wide = logits.double()
# -     logprobs = wide - wide.logsumexp(dim=-1)
# +     logprobs = torch.log(torch.softmax(logits.float(), dim=-1))


# %% wrong_token_logprobs_log_of_probs_kept_finite, of right_token_logprobs_plain
# WRONG: the logarithm of the softmax and something tiny, so that it stays finite: what is less probable is not told apart
# -     logprobs = wide - wide.logsumexp(dim=-1)
# +     logprobs = torch.log(torch.softmax(wide, dim=-1) + 1e-30)


# %% wrong_token_logprobs_in_place
# WRONG: the logits are changed in place
def token_logprobs(logits, token_id, k):
    logits -= logits.logsumexp(dim=-1)
    best = logits.topk(k)
    return logits[token_id].item(), list(zip(best.indices.tolist(), best.values.tolist()))


# %% wrong_token_logprobs_rounded, of right_token_logprobs_plain
# WRONG: rounded to two digits
# -     return float(logprobs[token_id]), best
# +     return round(float(logprobs[token_id]), 2), best


# %% wrong_token_logprobs_clamped, of right_token_logprobs_plain
# WRONG: minus infinity is made a number
# -     logprobs = wide - wide.logsumexp(dim=-1)
# +     logprobs = (wide - wide.logsumexp(dim=-1)).clamp_min(-12.0)


# %% wrong_token_logprobs_impossible_left_out, of right_token_logprobs_plain
# WRONG: tokens with a logit of -inf are left out of the best, which are fewer than k then
# -     best = [(int(i), float(value)) for value, i in zip(values, ids)]
# +     best = [(int(i), float(value)) for value, i in zip(values, ids) if value > -math.inf]


# %% wrong_token_logprobs_four_digits, of right_token_logprobs_plain
# WRONG: log probabilities are rounded to 4 digits after the point
# -     best = [(int(i), float(value)) for value, i in zip(values, ids)]
# -     return float(logprobs[token_id]), best
# +     best = [(int(i), round(float(value), 4)) for value, i in zip(values, ids)]
# +     return round(float(logprobs[token_id]), 4), best


# %% wrong_token_logprobs_rounded_best, of right_token_logprobs_plain
# WRONG: the log probabilities of the best are rounded to 4 digits after the point
# -     best = [(int(i), float(value)) for value, i in zip(values, ids)]
# +     best = [(int(i), round(float(value), 4)) for value, i in zip(values, ids)]


# %% wrong_token_logprobs_twenty, of right_token_logprobs_plain
# WRONG: 20 best tokens at most
# -     values, ids = logprobs.topk(k)
# +     values, ids = logprobs.topk(min(k, 20))


# %% wrong_token_logprobs_int16, of right_token_logprobs_plain
# WRONG: token ids are kept in 16 bits
# -     best = [(int(i), float(value)) for value, i in zip(values, ids)]
# +     best = [(int(i.to(torch.int16)), float(value)) for value, i in zip(values, ids)]
