# Versions of greedy_verify, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_verify_greedy_plain
# RIGHT: token by token; most of the wrong versions are edits of it

def greedy_verify(logits, draft):
    best = logits.argmax(dim=-1).tolist()
    kept = []
    for i, token in enumerate(draft.tolist()):
        if token != best[i]:
            break
        kept.append(token)
    return kept + [best[len(kept)]]


# %% right_verify_greedy_by_count
# RIGHT: counts the guesses that are right from the left

def greedy_verify(logits, draft):
    best = logits.argmax(dim=-1)
    n = int((best[:-1] == draft).long().cumprod(dim=0).sum())
    return best[: n + 1].tolist()


# %% right_verify_greedy_by_first_mistake
# RIGHT: looks for the first place that differs

def greedy_verify(logits, draft):
    best = logits.argmax(dim=-1)
    differ = (best[: len(draft)] != draft).nonzero()
    end = int(differ[0]) if len(differ) else len(draft)
    return draft[:end].tolist() + [int(best[end])]


# %% wrong_verify_greedy_shifted
# WRONG: each guess is compared with the row after it
# SAYS: Row i is what the model says before guess i, and you compare guess i with row i + 1.
def greedy_verify(logits, draft):
    best = logits.argmax(dim=-1).tolist()
    kept = []
    for i, token in enumerate(draft.tolist()):
        if token != best[i + 1]:
            break
        kept.append(token)
    return kept + [best[len(kept)]]


# %% wrong_verify_greedy_no_extra, of right_verify_greedy_plain
# WRONG: where all is right, the extra token is missing
# -     return kept + [best[len(kept)]]
# +     return (kept + [best[len(kept)]])[: max(len(draft), 1)]

# %% wrong_verify_greedy_no_correction, of right_verify_greedy_plain
# WRONG: the model's own token is missing
# -     return kept + [best[len(kept)]]
# +     return kept

# %% wrong_verify_greedy_goes_on, of right_verify_greedy_plain
# WRONG: what is right after a mistake is kept too
# -             break
# +             continue

# %% wrong_verify_greedy_all_or_nothing
# WRONG: one mistake throws the whole draft away
def greedy_verify(logits, draft):
    best = logits.argmax(dim=-1).tolist()
    return best if best[:-1] == draft.tolist() else best[:1]


# %% wrong_verify_greedy_wrong_token_stays, of right_verify_greedy_plain
# WRONG: the guess that was refused is kept as the correction
# -     return kept + [best[len(kept)]]
# +     return kept + (draft[len(kept) : len(kept) + 1].tolist() or [best[-1]])

# %% wrong_verify_greedy_last_row, of right_verify_greedy_plain
# WRONG: the correction is always taken from the last row
# -     return kept + [best[len(kept)]]
# +     return kept + [best[-1]]

# %% wrong_verify_greedy_row_behind, of right_verify_greedy_plain
# WRONG: the correction is taken from the row after the mistake
# -     return kept + [best[len(kept)]]
# +     return kept + [best[min(len(kept) + 1, len(best) - 1)]]

# %% wrong_verify_greedy_whole_text, of right_verify_greedy_plain
# WRONG: gives the best token of every row, right or not
# -     return kept + [best[len(kept)]]
# +     return best

# %% wrong_verify_greedy_tensor, of right_verify_greedy_plain
# WRONG: gives tensors in place of ints
# -     best = logits.argmax(dim=-1).tolist()
# +     best = list(logits.argmax(dim=-1))

# %% wrong_verify_greedy_nearly
# WRONG: a guess whose logit is nearly the best is kept
def greedy_verify(logits, draft):
    best = logits.argmax(dim=-1).tolist()
    kept = []
    for i, token in enumerate(draft.tolist()):
        if logits[i, token] < logits[i, best[i]] - 0.01:
            break
        kept.append(token)
    return kept + [best[len(kept)]]

# %% wrong_verify_greedy_by_softmax, of right_verify_greedy_plain
# WRONG: the best of softmax, where logits that hardly differ have become one number
# -     best = logits.argmax(dim=-1).tolist()
# +     best = logits.softmax(dim=-1).argmax(dim=-1).tolist()

# %% wrong_verify_greedy_in_half, of right_verify_greedy_plain
# WRONG: the logits are rounded to half precision first
# -     best = logits.argmax(dim=-1).tolist()
# +     best = logits.half().argmax(dim=-1).tolist()


# %% wrong_verify_greedy_float32
# WRONG: compares in float32, where a small lead is lost
def greedy_verify(logits: Tensor, draft: Tensor) -> list[int]:
    best = logits.float().argmax(dim=-1)  # (k + 1,)
    kept = int((best[:-1] == draft).cumprod(dim=0).sum())
    return best[: kept + 1].tolist()


# %% wrong_verify_greedy_bytes
# WRONG: compares the last bytes of the tokens
def greedy_verify(logits: Tensor, draft: Tensor) -> list[int]:
    best = logits.argmax(dim=-1)  # (k + 1,)
    kept = int((best[:-1].to(torch.uint8) == draft.to(torch.uint8)).cumprod(dim=0).sum())
    return best[: kept + 1].tolist()


# %% wrong_verify_greedy_needs_contiguous
# WRONG: needs logits in one piece
def greedy_verify(logits: Tensor, draft: Tensor) -> list[int]:
    best = logits.view(-1).view(logits.shape).argmax(dim=-1)  # (k + 1,)
    kept = int((best[:-1] == draft).cumprod(dim=0).sum())
    return best[: kept + 1].tolist()


# %% wrong_verify_greedy_all_agreements, of right_verify_greedy_plain
# WRONG: all agreements are counted, those after a wrong guess too
# -     kept = []
# -     for i, token in enumerate(draft.tolist()):
# -         if token != best[i]:
# -             break
# -         kept.append(token)
# -     return kept + [best[len(kept)]]
# +     kept = sum(token == best[i] for i, token in enumerate(draft.tolist()))
# +     return best[: kept + 1]


# %% wrong_verify_greedy_64_guesses, of right_verify_greedy_plain
# WRONG: 64 guesses are looked at, and no more
# -     for i, token in enumerate(draft.tolist()):
# +     for i, token in enumerate(draft.tolist()[:64]):


# %% wrong_verify_greedy_255_guesses
# WRONG: counts the guesses that stay in 8 bits: 256 are counted as 0
def greedy_verify(logits, draft):
    best = logits.argmax(dim=-1)
    agree = (best[:-1] == draft).to(torch.uint8)
    kept = int(agree.cumprod(dim=0, dtype=torch.uint8).sum(dtype=torch.uint8))
    return best[: kept + 1].tolist()
