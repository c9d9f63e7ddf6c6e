# Versions of verify_sampled, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_verify_sampled_plain
# RIGHT: token by token; most of the wrong versions are edits of it

def verify_sampled(p, q, draft, u):
    k = len(draft)
    kept = []
    for i, token in enumerate(draft.tolist()):
        accepted = acceptance_probs(p[i], q[i])[token]
        if u[i] >= accepted:
            replaced = residual_probs(p[i], q[i])
            return kept + [int(draw(replaced.unsqueeze(0), u[k:]))]
        kept.append(token)
    return kept + [int(draw(p[k].unsqueeze(0), u[k:]))]


# %% right_verify_sampled_by_count
# RIGHT: all acceptances at once, counted from the left

def verify_sampled(p, q, draft, u):
    k = len(draft)
    accepted = acceptance_probs(p[:k], q)[torch.arange(k), draft]
    n = int((u[:k] < accepted).long().cumprod(dim=0).sum())
    last = residual_probs(p[n], q[n]) if n < k else p[k]
    return draft[:n].tolist() + [int(draw(last[None], u[k].reshape(1, 1)))]


# %% right_verify_sampled_products
# RIGHT: compares u q with p, and draws with searchsorted

def verify_sampled(p, q, draft, u):
    k, tokens = len(draft), draft.tolist()
    n = 0
    while n < k and float(u[n]) * float(q[n, tokens[n]]) < float(p[n, tokens[n]]):
        n += 1
    last = p[k] if n == k else (p[n] - q[n]).clamp(min=0)
    if float(last.sum()) == 0:
        last = p[n]
    scale = last.double().cumsum(dim=0)
    scale = scale / scale[-1].item()
    at = torch.searchsorted(scale, u[k].double().reshape(1), right=True)
    return tokens[:n] + [int(at)]


# %% wrong_verify_sampled_replaced_from_p, of right_verify_sampled_plain
# WRONG: a refused token is replaced by a draw from p
# -             replaced = residual_probs(p[i], q[i])
# +             replaced = p[i]

# %% wrong_verify_sampled_turned, of right_verify_sampled_plain
# WRONG: q / p for p / q
# -         accepted = acceptance_probs(p[i], q[i])[token]
# +         accepted = acceptance_probs(q[i], p[i])[token]

# %% wrong_verify_sampled_only_if_more, of right_verify_sampled_plain
# WRONG: kept only where p is not less than q
# -         if u[i] >= accepted:
# +         if accepted < 1:

# %% wrong_verify_sampled_by_p, of right_verify_sampled_plain
# WRONG: kept with probability p, not p / q
# -         accepted = acceptance_probs(p[i], q[i])[token]
# +         accepted = p[i][token]

# %% wrong_verify_sampled_row_behind, of right_verify_sampled_plain
# WRONG: the replacement is drawn from the row after
# -             replaced = residual_probs(p[i], q[i])
# +             replaced = residual_probs(p[i + 1], q[i])

# %% wrong_verify_sampled_no_extra, of right_verify_sampled_plain
# WRONG: where all is kept, the extra token is missing
# -     return kept + [int(draw(p[k].unsqueeze(0), u[k:]))]
# +     return kept or [int(draw(p[k].unsqueeze(0), u[k:]))]

# %% wrong_verify_sampled_extra_from_before, of right_verify_sampled_plain
# WRONG: the extra token is drawn from the row before the last guess
# -     return kept + [int(draw(p[k].unsqueeze(0), u[k:]))]
# +     return kept + [int(draw(p[max(k - 1, 0)].unsqueeze(0), u[k:]))]

# %% wrong_verify_sampled_goes_on
# WRONG: after a refused token the next ones are looked at as if it had been kept
def verify_sampled(p, q, draft, u):
    k, tokens = len(draft), []
    for i, token in enumerate(draft.tolist()):
        if u[i] < acceptance_probs(p[i], q[i])[token]:
            tokens.append(token)
        else:
            tokens.append(int(draw(residual_probs(p[i], q[i])[None], u[k:])))
    return tokens + [int(draw(p[k][None], u[k:]))]


# %% wrong_verify_sampled_same_u, of right_verify_sampled_plain
# WRONG: the random number that refused a token draws its replacement too
# -             return kept + [int(draw(replaced.unsqueeze(0), u[k:]))]
# +             return kept + [int(draw(replaced.unsqueeze(0), u[i : i + 1]))]

# %% wrong_verify_sampled_all_or_nothing, of right_verify_sampled_plain
# WRONG: one refused token throws the whole draft away
# -             return kept + [int(draw(replaced.unsqueeze(0), u[k:]))]
# +             return [int(draw((replaced if i == 0 else p[0]).unsqueeze(0), u[k:]))]

# %% wrong_verify_sampled_at_the_border, of right_verify_sampled_plain
# WRONG: kept where u equals the acceptance: a token with p = 0 can be kept at u = 0
# -         if u[i] >= accepted:
# +         if u[i] > accepted:

# %% wrong_verify_sampled_first_u, of right_verify_sampled_plain
# WRONG: every guess is compared with the first random number
# -         if u[i] >= accepted:
# +         if u[0] >= accepted:

# %% wrong_verify_sampled_keeps_all, of right_verify_sampled_plain
# WRONG: every guess is kept
# -         if u[i] >= accepted:
# +         if False:

# %% wrong_verify_sampled_refused_is_lost, of right_verify_sampled_plain
# WRONG: a refused token is not replaced
# -             return kept + [int(draw(replaced.unsqueeze(0), u[k:]))]
# +             return kept or [int(draw(replaced.unsqueeze(0), u[k:]))]

# %% wrong_verify_sampled_extra_is_the_best, of right_verify_sampled_plain
# WRONG: the extra token is the most probable one
# -     return kept + [int(draw(p[k].unsqueeze(0), u[k:]))]
# +     return kept + [int(p[k].argmax())]

# %% wrong_verify_sampled_absolute, of right_verify_sampled_plain
# WRONG: replaced by a draw from |p - q|
# -             replaced = residual_probs(p[i], q[i])
# +             replaced = (p[i] - q[i]).abs()

# %% wrong_verify_sampled_next_u, of right_verify_sampled_plain
# WRONG: the replacement is drawn at the number of the next guess, not at u[k]
# -             return kept + [int(draw(replaced.unsqueeze(0), u[k:]))]
# +             return kept + [int(draw(replaced.unsqueeze(0), u[i + 1 : i + 2]))]

# %% wrong_verify_sampled_any_other, of right_verify_sampled_plain
# WRONG: replaced by a draw from p without the refused token
# -             replaced = residual_probs(p[i], q[i])
# +             replaced = p[i].masked_fill(torch.arange(p.shape[1]) == token, 0) / (1 - p[i][token])

# %% wrong_verify_sampled_counts_all
# WRONG: counts all guesses that pass, those after a refused one too
def verify_sampled(p, q, draft, u):
    k = len(draft)
    accepted = acceptance_probs(p[:k], q)[torch.arange(k), draft]
    n = int((u[:k] < accepted).sum())
    last = residual_probs(p[n], q[n]) if n < k else p[k]
    return draft[:n].tolist() + [int(draw(last[None], u[k].reshape(1, 1)))]


# %% wrong_verify_float32
# WRONG: computed in float32
def verify_sampled(p: Tensor, q: Tensor, draft: Tensor, u: Tensor) -> list[int]:
    k = len(draft)
    p, q, u = p.float(), q.float(), u.float()
    accepted = acceptance_probs(p[:k], q).gather(1, draft.unsqueeze(1)).squeeze(1)  # (k,)
    kept = int((u[:k] < accepted).cumprod(dim=0).sum())
    last = p[k] if kept == k else residual_probs(p[kept], q[kept])
    return [*draft[:kept].tolist(), int(draw(last.unsqueeze(0), u[k:]))]


# %% wrong_verify_own_draw_last
# WRONG: a draw of its own gives the last token, though its probability is 0, where the sums end below u
def verify_sampled(p: Tensor, q: Tensor, draft: Tensor, u: Tensor) -> list[int]:
    k = len(draft)
    accepted = acceptance_probs(p[:k], q).gather(1, draft.unsqueeze(1)).squeeze(1)  # (k,)
    kept = int((u[:k] < accepted).cumprod(dim=0).sum())
    last = p[k] if kept == k else residual_probs(p[kept], q[kept])
    return [*draft[:kept].tolist(), min(int((last.cumsum(0) <= u[k]).sum()), len(last) - 1)]


# %% wrong_verify_own_draw_over_end
# WRONG: a draw of its own gives a token after the last one where the sums end below u
def verify_sampled(p: Tensor, q: Tensor, draft: Tensor, u: Tensor) -> list[int]:
    k = len(draft)
    accepted = acceptance_probs(p[:k], q).gather(1, draft.unsqueeze(1)).squeeze(1)  # (k,)
    kept = int((u[:k] < accepted).cumprod(dim=0).sum())
    last = p[k] if kept == k else residual_probs(p[kept], q[kept])
    return [*draft[:kept].tolist(), int((last.cumsum(0) <= u[k]).sum())]


# %% wrong_verify_u_rounded
# WRONG: u is rounded to six places
def verify_sampled(p: Tensor, q: Tensor, draft: Tensor, u: Tensor) -> list[int]:
    k = len(draft)
    accepted = acceptance_probs(p[:k], q).gather(1, draft.unsqueeze(1)).squeeze(1)  # (k,)
    kept = int((u[:k].mul(1e6).round().div(1e6) < accepted).cumprod(dim=0).sum())
    last = p[k] if kept == k else residual_probs(p[kept], q[kept])
    return [*draft[:kept].tolist(), int(draw(last.unsqueeze(0), u[k:]))]


# %% wrong_verify_u_float32
# WRONG: u in float32
def verify_sampled(p: Tensor, q: Tensor, draft: Tensor, u: Tensor) -> list[int]:
    k = len(draft)
    accepted = acceptance_probs(p[:k], q).gather(1, draft.unsqueeze(1)).squeeze(1)  # (k,)
    kept = int((u[:k].float() < accepted).cumprod(dim=0).sum())
    last = p[k] if kept == k else residual_probs(p[kept], q[kept])
    return [*draft[:kept].tolist(), int(draw(last.unsqueeze(0), u[k:]))]


# %% wrong_verify_needs_contiguous
# WRONG: flat indices into p and q, which must be contiguous
def verify_sampled(p: Tensor, q: Tensor, draft: Tensor, u: Tensor) -> list[int]:
    k = len(draft)
    at = torch.arange(k) * p.shape[1] + draft
    accepted = acceptance_probs(p.view(-1)[at], q.view(-1)[at])  # (k,)
    kept = int((u[:k] < accepted).cumprod(dim=0).sum())
    last = p[k] if kept == k else residual_probs(p[kept], q[kept])
    return [*draft[:kept].tolist(), int(draw(last.unsqueeze(0), u[k:]))]


# %% wrong_verify_p_float32
# WRONG: p and q in float32
def verify_sampled(p: Tensor, q: Tensor, draft: Tensor, u: Tensor) -> list[int]:
    k = len(draft)
    p, q = p.float(), q.float()
    accepted = acceptance_probs(p[:k], q).gather(1, draft.unsqueeze(1)).squeeze(1)  # (k,)
    kept = int((u[:k] < accepted).cumprod(dim=0).sum())
    last = p[k] if kept == k else residual_probs(p[kept], q[kept])
    return [*draft[:kept].tolist(), int(draw(last.unsqueeze(0), u[k:]))]


# %% wrong_verify_16_bits
# WRONG: holds the draft's tokens in 16 bits, where those above 32,767 are negative
def verify_sampled(p: Tensor, q: Tensor, draft: Tensor, u: Tensor) -> list[int]:
    k, tokens = len(draft), draft.to(torch.int16).tolist()
    kept = 0
    while kept < k and u[kept] < acceptance_probs(p[kept], q[kept])[tokens[kept]]:
        kept += 1
    last = p[k] if kept == k else residual_probs(p[kept], q[kept])
    return [*tokens[:kept], int(draw(last.unsqueeze(0), u[k:]))]


# %% wrong_verify_255_guesses
# WRONG: counts the guesses that stay in 8 bits: 256 are counted as 0
def verify_sampled(p: Tensor, q: Tensor, draft: Tensor, u: Tensor) -> list[int]:
    k = len(draft)
    accepted = acceptance_probs(p[:k], q).gather(1, draft.unsqueeze(1)).squeeze(1)  # (k,)
    kept = int((u[:k] < accepted).to(torch.uint8).cumprod(dim=0, dtype=torch.uint8).sum(dtype=torch.uint8))
    last = p[k] if kept == k else residual_probs(p[kept], q[kept])
    return [*draft[:kept].tolist(), int(draw(last.unsqueeze(0), u[k:]))]
