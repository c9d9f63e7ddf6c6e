# Versions of kl_divergence, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_kl_plain
# RIGHT: step by step; most of the wrong versions are edits of it

def kl_divergence(reference_logits, logits):
    log_p = torch.log_softmax(reference_logits.double(), dim=-1)
    log_q = torch.log_softmax(logits.double(), dim=-1)
    p = log_p.exp()
    places = (p * (log_p - log_q)).sum(dim=-1)
    return places.mean().item()


# %% right_kl_library
# RIGHT: torch's kl_div

def kl_divergence(reference_logits, logits):
    log_p = reference_logits.double().log_softmax(-1)
    log_q = logits.double().log_softmax(-1)
    return float(torch.nn.functional.kl_div(log_q, log_p, reduction="batchmean", log_target=True))


# %% right_kl_cross_entropy
# RIGHT: cross-entropy minus entropy, in float32, with logsumexp

def kl_divergence(reference_logits, logits):
    a, b = reference_logits.float(), logits.float()
    p = a.softmax(-1)
    log_p, log_q = a - a.logsumexp(-1, keepdim=True), b - b.logsumexp(-1, keepdim=True)
    return float((p * log_p).sum(-1).sub((p * log_q).sum(-1)).mean())


# %% wrong_kl_exchanged, of right_kl_plain
# WRONG: the arguments are exchanged: q weighs the differences
# -     log_p = torch.log_softmax(reference_logits.double(), dim=-1)
# -     log_q = torch.log_softmax(logits.double(), dim=-1)
# +     log_q = torch.log_softmax(reference_logits.double(), dim=-1)
# +     log_p = torch.log_softmax(logits.double(), dim=-1)

# %% wrong_kl_bits, of right_kl_plain
# WRONG: in bits
# -     return places.mean().item()
# +     return places.mean().item() / 0.6931471805599453

# %% wrong_kl_sum_of_places, of right_kl_plain
# WRONG: the sum over places, not their mean
# -     return places.mean().item()
# +     return places.sum().item()

# %% wrong_kl_mean_of_entries, of right_kl_plain
# WRONG: the mean over the vocabulary too
# -     places = (p * (log_p - log_q)).sum(dim=-1)
# +     places = (p * (log_p - log_q)).mean(dim=-1)

# %% wrong_kl_weighed_by_q, of right_kl_plain
# WRONG: q weighs the differences
# -     p = log_p.exp()
# +     p = log_q.exp()

# %% wrong_kl_cross_entropy_only, of right_kl_plain
# WRONG: cross-entropy: the reference's own entropy is not taken off
# -     places = (p * (log_p - log_q)).sum(dim=-1)
# +     places = (p * -log_q).sum(dim=-1)

# %% wrong_kl_logits_for_logs, of right_kl_plain
# WRONG: takes the logits for logarithms of probabilities
# -     log_q = torch.log_softmax(logits.double(), dim=-1)
# +     log_q = logits.double()

# %% wrong_kl_absolute, of right_kl_plain
# WRONG: adds magnitudes of differences
# -     places = (p * (log_p - log_q)).sum(dim=-1)
# +     places = (p * (log_p - log_q).abs()).sum(dim=-1)

# %% wrong_kl_symmetric, of right_kl_plain
# WRONG: the mean of both directions
# -     places = (p * (log_p - log_q)).sum(dim=-1)
# +     places = 0.5 * ((p - log_q.exp()) * (log_p - log_q)).sum(dim=-1)

# %% wrong_kl_first_dimension, of right_kl_plain
# WRONG: softmax over the places, not over the vocabulary
# -     log_p = torch.log_softmax(reference_logits.double(), dim=-1)
# -     log_q = torch.log_softmax(logits.double(), dim=-1)
# +     log_p = torch.log_softmax(reference_logits.double(), dim=0)
# +     log_q = torch.log_softmax(logits.double(), dim=0)

# %% wrong_kl_exp_overflows, of right_kl_plain
# WRONG: exp of the logits themselves, which overflows
# -     log_p = torch.log_softmax(reference_logits.double(), dim=-1)
# -     log_q = torch.log_softmax(logits.double(), dim=-1)
# +     log_p, log_q = ((x.double().exp() / x.double().exp().sum(-1, keepdim=True)).log() for x in (reference_logits, logits))

# %% wrong_kl_epsilon, of right_kl_plain
# WRONG: probabilities are never under 1e-2
# -     log_q = torch.log_softmax(logits.double(), dim=-1)
# +     log_q = torch.log_softmax(logits.double(), dim=-1).exp().clamp(min=1e-2).log()

# %% wrong_kl_last_place, of right_kl_plain
# WRONG: the last place only
# -     return places.mean().item()
# +     return places[-1].item()

# %% wrong_kl_narrow, of right_kl_plain
# WRONG: works in the dtype of the logits, which may be 16 bits
# -     log_p = torch.log_softmax(reference_logits.double(), dim=-1)
# -     log_q = torch.log_softmax(logits.double(), dim=-1)
# +     log_p = torch.log_softmax(reference_logits, dim=-1)
# +     log_q = torch.log_softmax(logits, dim=-1)

# %% wrong_kl_small_epsilon, of right_kl_plain
# WRONG: 1e-9 is added to every probability before its logarithm, so that none is improbable
# -     log_p = torch.log_softmax(reference_logits.double(), dim=-1)
# +     log_p = (torch.softmax(reference_logits.double(), dim=-1) + 1e-9).log()
# -     log_q = torch.log_softmax(logits.double(), dim=-1)
# +     log_q = (torch.softmax(logits.double(), dim=-1) + 1e-9).log()

# %% wrong_kl_tensor, of right_kl_plain
# WRONG: gives a tensor, not a float
# -     return places.mean().item()
# +     return places.mean()

# %% wrong_kl_likeliest_hundred, of right_kl_plain
# WRONG: looks at the 100 likeliest tokens of the reference only
# -     p = log_p.exp()
# +     log_p, top = log_p.topk(min(100, log_p.shape[-1]), dim=-1)
# +     log_q = log_q.gather(-1, top)
# +     p = log_p.exp()

# %% wrong_kl_mean_of_means, of right_kl_plain
# WRONG: takes the mean of the means of 128 places each, whose last part has fewer
# -     return places.mean().item()
# +     return torch.stack([part.mean() for part in places.split(128)]).mean().item()

# %% wrong_kl_one_maximum, of right_kl_plain
# WRONG: the reference's maximum is taken off both logits, so that exp of the other ones overflows where they are higher
# -     log_q = torch.log_softmax(logits.double(), dim=-1)
# +     log_q = logits.double() - reference_logits.double().amax(dim=-1, keepdim=True)
# +     log_q = log_q - log_q.exp().sum(dim=-1, keepdim=True).log()
