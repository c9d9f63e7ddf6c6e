# Versions of perplexity, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_perplexity_plain
# RIGHT: step by step; most of the wrong versions are edits of it

def perplexity(logits, ids):
    log_probs = torch.log_softmax(logits.double(), dim=-1)
    said = log_probs[:-1]
    came = ids[1:]
    each = said[torch.arange(len(came)), came]
    mean = -each.mean()
    return mean.exp().item()


# %% right_perplexity_cross_entropy
# RIGHT: torch's cross_entropy

def perplexity(logits, ids):
    loss = torch.nn.functional.cross_entropy(logits[:-1].double(), ids[1:])
    return float(torch.exp(loss))


# %% right_perplexity_loop
# RIGHT: token by token, in float32

def perplexity(logits, ids):
    import math

    total = 0.0
    for t in range(len(ids) - 1):
        row = logits[t].float()
        total += float(row.logsumexp(0) - row[ids[t + 1]])
    return math.exp(total / (len(ids) - 1))


# %% wrong_perplexity_same_place, of right_perplexity_plain
# WRONG: row t against token t, not against the next one
# -     said = log_probs[:-1]
# -     came = ids[1:]
# +     said = log_probs
# +     came = ids

# %% wrong_perplexity_token_before, of right_perplexity_plain
# WRONG: row t + 1 against token t
# -     said = log_probs[:-1]
# -     came = ids[1:]
# +     said = log_probs[1:]
# +     came = ids[:-1]

# %% wrong_perplexity_two_further, of right_perplexity_plain
# WRONG: row t against token t + 2, the first one for the last rows
# -     came = ids[1:]
# +     came = ids.roll(-2)[:-1]

# %% wrong_perplexity_last_row_too, of right_perplexity_plain
# WRONG: the last row is compared with the first token
# -     said = log_probs[:-1]
# -     came = ids[1:]
# +     said = log_probs
# +     came = ids.roll(-1)

# %% wrong_perplexity_divides_by_T, of right_perplexity_plain
# WRONG: divides by T, though T - 1 tokens are judged
# -     mean = -each.mean()
# +     mean = -each.sum() / len(ids)

# %% wrong_perplexity_no_exp, of right_perplexity_plain
# WRONG: gives the mean, not its exp
# -     return mean.exp().item()
# +     return mean.item()

# %% wrong_perplexity_base_2, of right_perplexity_plain
# WRONG: 2 to the power of a mean in nats
# -     return mean.exp().item()
# +     return 2.0 ** mean.item()

# %% wrong_perplexity_inverse, of right_perplexity_plain
# WRONG: the sign of the mean is turned
# -     mean = -each.mean()
# +     mean = each.mean()

# %% wrong_perplexity_sum, of right_perplexity_plain
# WRONG: exp of the sum
# -     mean = -each.mean()
# +     mean = -each.sum()

# %% wrong_perplexity_mean_of_exps, of right_perplexity_plain
# WRONG: the mean of 1 / p, not exp of the mean of -log p
# -     mean = -each.mean()
# -     return mean.exp().item()
# +     return (-each).exp().mean().item()

# %% wrong_perplexity_of_entropy, of right_perplexity_plain
# WRONG: exp of the mean entropy: what came is not looked at
# -     each = said[torch.arange(len(came)), came]
# +     each = (said.exp() * said).sum(dim=-1)

# %% wrong_perplexity_logits_for_logs, of right_perplexity_plain
# WRONG: takes the logits for logarithms of probabilities
# -     log_probs = torch.log_softmax(logits.double(), dim=-1)
# +     log_probs = logits.double()

# %% wrong_perplexity_overflows, of right_perplexity_plain
# WRONG: exp of the logits themselves, which overflows
# -     log_probs = torch.log_softmax(logits.double(), dim=-1)
# +     weights = logits.double().exp()
# +     log_probs = (weights / weights.sum(dim=-1, keepdim=True)).log()

# %% wrong_perplexity_narrow, of right_perplexity_plain
# WRONG: works in the dtype of the logits, which may be 16 bits
# -     log_probs = torch.log_softmax(logits.double(), dim=-1)
# +     log_probs = torch.log_softmax(logits, dim=-1)

# %% wrong_perplexity_epsilon, of right_perplexity_plain
# WRONG: 1e-8 is added to every probability before its logarithm, so that none is improbable
# -     log_probs = torch.log_softmax(logits.double(), dim=-1)
# +     log_probs = (torch.softmax(logits.double(), dim=-1) + 1e-8).log()

# %% wrong_perplexity_log_of_softmax, of right_perplexity_plain
# WRONG: the logarithm of a softmax in float32, where improbable tokens have 0
# -     log_probs = torch.log_softmax(logits.double(), dim=-1)
# +     log_probs = torch.softmax(logits.float(), dim=-1).log()

# %% wrong_perplexity_tensor, of right_perplexity_plain
# WRONG: gives a tensor, not a float
# -     return mean.exp().item()
# +     return mean.exp()

# %% wrong_perplexity_mean_of_means, of right_perplexity_plain
# WRONG: takes the mean of the means of 128 predictions each, whose last part has fewer
# -     mean = -each.mean()
# +     mean = -torch.stack([part.mean() for part in each.split(128)]).mean()

# %% wrong_perplexity_16_bits, of right_perplexity_plain
# WRONG: the ids are kept in 16 bits, where those from 32,768 on are below 0
# -     came = ids[1:]
# +     came = ids[1:].to(torch.int16).long()

# %% wrong_perplexity_last_times_0, of right_perplexity_plain
# WRONG: the last row is multiplied by 0 in place of left out, and 0 times -inf is nan
# -     said = log_probs[:-1]
# -     came = ids[1:]
# -     each = said[torch.arange(len(came)), came]
# -     mean = -each.mean()
# +     came = ids.roll(-1)
# +     each = log_probs[torch.arange(len(came)), came]
# +     counts = torch.arange(len(came)) < len(came) - 1
# +     mean = -(each * counts).sum() / counts.sum()
