# Versions of beam_search, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_beam_plain
# RIGHT: step by step; most of the wrong versions are edits of it

def beam_search(model, idx, *, beams, max_new_tokens, length_penalty=0.0, eos_token_id=None):
    if beams < 1:
        raise ValueError(f"beams must be 1 or more, got {beams}")

    def score(hypothesis):
        tokens, log_prob = hypothesis
        return log_prob / max(1, len(tokens)) ** length_penalty

    best = [([], 0.0)]
    for _ in range(max_new_tokens):
        candidates = [h for h in best if h[0][-1:] == [eos_token_id]]
        growing = [h for h in best if h[0][-1:] != [eos_token_id]]
        if not growing:
            break
        new_ids = torch.tensor([tokens for tokens, _ in growing], dtype=idx.dtype)
        logits = model(torch.cat([idx.expand(len(growing), -1), new_ids], dim=1))[:, -1]
        steps, children = log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32))).topk(min(beams, logits.shape[-1]))
        for (tokens, log_prob), row, ids in zip(growing, steps.tolist(), children.tolist()):
            candidates += [([*tokens, token], log_prob + step) for step, token in zip(row, ids)]
        best = sorted(candidates, key=score, reverse=True)[:beams]
    tokens, log_prob = best[0]
    return torch.cat([idx, torch.tensor([tokens], dtype=idx.dtype)], dim=1), log_prob


# %% right_beam_ends_early
# RIGHT: ends as soon as the best is finished where there is no length penalty; finished rows run along and are cut at the end

def beam_search(model, idx, *, beams, max_new_tokens, length_penalty=0.0, eos_token_id=None):
    if beams <= 0:
        raise ValueError(f"{beams} beams")
    T = idx.shape[1]
    rows = [(idx[0].tolist(), 0.0, 0)]  # ids (padded with EOS), log probability, new tokens that count
    ended = lambda r: r[2] > 0 and r[0][T + r[2] - 1] == eos_token_id
    for _ in range(max_new_tokens):
        if ended(rows[0]) and length_penalty == 0:
            break
        logp = model(torch.tensor([r[0] for r in rows]))[:, -1].double().log_softmax(-1)
        pool = []
        for r, lp in zip(rows, logp):
            if ended(r):
                pool.append((r[0] + [eos_token_id], r[1], r[2]))
                continue
            top = lp.topk(min(beams, lp.numel()))
            pool += [(r[0] + [t], r[1] + v, r[2] + 1) for v, t in zip(top.values.tolist(), top.indices.tolist())]
        rows = sorted(pool, key=lambda r: r[1] / r[2] ** length_penalty, reverse=True)[:beams]
    ids, log_prob, n = rows[0]
    return torch.tensor([ids[: T + n]]), log_prob


# %% right_beam_flat_topk
# RIGHT: tensors throughout: one topk over beams x V, finished rows padded with EOS at no cost

def beam_search(model, idx, *, beams, max_new_tokens, length_penalty=0.0, eos_token_id=None):
    if beams < 1:
        raise ValueError("no beams")
    ids, total = idx, torch.zeros(1)
    finished, length = torch.zeros(1, dtype=torch.bool), torch.zeros(1)
    for _ in range(max_new_tokens):
        logp = model(ids)[:, -1].float().log_softmax(-1)
        V = logp.shape[-1]
        if eos_token_id is not None:
            frozen = torch.full((V,), float("-inf"))
            frozen[eos_token_id] = 0.0
            logp = torch.where(finished[:, None], frozen, logp)
        scores = total[:, None] + logp
        new_length = (length + (~finished).float())[:, None].expand_as(scores)
        ranked = scores / new_length**length_penalty
        best = ranked.flatten().topk(min(beams, ranked.numel())).indices
        best = best[scores.flatten()[best] > float("-inf")]
        parent, token = best // V, best % V
        total, length = scores.flatten()[best], new_length.flatten()[best]
        ids = torch.cat([ids[parent], token[:, None]], 1)
        finished = finished[parent]
        if eos_token_id is not None:
            finished = finished | (token == eos_token_id)
            if finished.all():
                break
    winner = int((total / length**length_penalty).argmax())
    row = ids[winner : winner + 1, : idx.shape[1] + int(length[winner])]
    return row, float(total[winner])


# %% right_beam_one_hypothesis_at_a_time
# RIGHT: the model sees one hypothesis at a time, all its tokens are candidates; tuples and a heap; log_prob is a tensor

import heapq

def beam_search(model, idx, *, beams, max_new_tokens, length_penalty=0.0, eos_token_id=None):
    if beams < 1:
        raise ValueError("no beams")
    start = idx.shape[1]

    def rank(h):
        n = h[0].shape[1] - start
        return float(h[1]) / n**length_penalty if n else 0.0

    def over(h):
        return h[0].shape[1] > start and eos_token_id is not None and int(h[0][0, -1]) == eos_token_id

    best = [(idx, torch.zeros((), dtype=torch.float64))]
    for _ in range(max_new_tokens):
        pool = []
        for h in best:
            if over(h):
                pool.append(h)
                continue
            logp = torch.log_softmax(model(h[0])[0, -1].double(), dim=-1)
            pool += [(torch.cat([h[0], torch.tensor([[token]])], 1), h[1] + logp[token]) for token in range(logp.numel())]
        best = heapq.nlargest(beams, pool, key=rank)
        if all(map(over, best)):
            break
    return max(best, key=rank)


# %% wrong_beam_at_least_one_token
# WRONG: makes one token even where none is asked for

def beam_search(
    model: Callable[[Tensor], Tensor],
    idx: Tensor,
    *,
    beams: int,
    max_new_tokens: int,
    length_penalty: float = 0.0,
    eos_token_id: int | None = None,
) -> tuple[Tensor, float]:
    if beams < 1:
        raise ValueError(f"beams must be 1 or more, got {beams}")

    def score(hypothesis: tuple[list[int], float]) -> float:
        tokens, log_prob = hypothesis
        return log_prob / max(1, len(tokens)) ** length_penalty

    best: list[tuple[list[int], float]] = [([], 0.0)]  # new tokens, and the sum of their log probabilities
    for _ in range(max(1, max_new_tokens)):
        candidates = [h for h in best if h[0][-1:] == [eos_token_id]]  # the finished ones stay as they are
        growing = [h for h in best if h[0][-1:] != [eos_token_id]]
        if not growing:
            break
        new_ids = torch.tensor([tokens for tokens, _ in growing], dtype=idx.dtype, device=idx.device)
        with torch.no_grad():
            logits = model(torch.cat([idx.expand(len(growing), -1), new_ids], dim=1))[:, -1]  # (len(growing), V)
        log_probs = log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32)))
        steps, children = log_probs.topk(min(beams, logits.shape[-1]))  # of one parent, more cannot survive
        for (tokens, log_prob), row, ids in zip(growing, steps.tolist(), children.tolist(), strict=True):
            candidates += [([*tokens, token], log_prob + step) for step, token in zip(row, ids, strict=True)]
        best = sorted(candidates, key=score, reverse=True)[:beams]
    tokens, log_prob = best[0]
    return torch.cat([idx, torch.tensor([tokens], dtype=idx.dtype, device=idx.device)], dim=1), log_prob


# %% wrong_beam_default_penalty
# WRONG: a small length penalty where none was asked for

def beam_search(
    model: Callable[[Tensor], Tensor],
    idx: Tensor,
    *,
    beams: int,
    max_new_tokens: int,
    length_penalty: float = 0.01,
    eos_token_id: int | None = None,
) -> tuple[Tensor, float]:
    if beams < 1:
        raise ValueError(f"beams must be 1 or more, got {beams}")

    def score(hypothesis: tuple[list[int], float]) -> float:
        tokens, log_prob = hypothesis
        return log_prob / max(1, len(tokens)) ** length_penalty

    best: list[tuple[list[int], float]] = [([], 0.0)]  # new tokens, and the sum of their log probabilities
    for _ in range(max_new_tokens):
        candidates = [h for h in best if h[0][-1:] == [eos_token_id]]  # the finished ones stay as they are
        growing = [h for h in best if h[0][-1:] != [eos_token_id]]
        if not growing:
            break
        new_ids = torch.tensor([tokens for tokens, _ in growing], dtype=idx.dtype, device=idx.device)
        with torch.no_grad():
            logits = model(torch.cat([idx.expand(len(growing), -1), new_ids], dim=1))[:, -1]  # (len(growing), V)
        log_probs = log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32)))
        steps, children = log_probs.topk(min(beams, logits.shape[-1]))  # of one parent, more cannot survive
        for (tokens, log_prob), row, ids in zip(growing, steps.tolist(), children.tolist(), strict=True):
            candidates += [([*tokens, token], log_prob + step) for step, token in zip(row, ids, strict=True)]
        best = sorted(candidates, key=score, reverse=True)[:beams]
    tokens, log_prob = best[0]
    return torch.cat([idx, torch.tensor([tokens], dtype=idx.dtype, device=idx.device)], dim=1), log_prob


# %% wrong_beam_default_penalty_one
# WRONG: divides by the length where no length penalty was given

def beam_search(
    model: Callable[[Tensor], Tensor],
    idx: Tensor,
    *,
    beams: int,
    max_new_tokens: int,
    length_penalty: float = 1.0,
    eos_token_id: int | None = None,
) -> tuple[Tensor, float]:
    if beams < 1:
        raise ValueError(f"beams must be 1 or more, got {beams}")

    def score(hypothesis: tuple[list[int], float]) -> float:
        tokens, log_prob = hypothesis
        return log_prob / max(1, len(tokens)) ** length_penalty

    best: list[tuple[list[int], float]] = [([], 0.0)]  # new tokens, and the sum of their log probabilities
    for _ in range(max_new_tokens):
        candidates = [h for h in best if h[0][-1:] == [eos_token_id]]  # the finished ones stay as they are
        growing = [h for h in best if h[0][-1:] != [eos_token_id]]
        if not growing:
            break
        new_ids = torch.tensor([tokens for tokens, _ in growing], dtype=idx.dtype, device=idx.device)
        with torch.no_grad():
            logits = model(torch.cat([idx.expand(len(growing), -1), new_ids], dim=1))[:, -1]  # (len(growing), V)
        log_probs = log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32)))
        steps, children = log_probs.topk(min(beams, logits.shape[-1]))  # of one parent, more cannot survive
        for (tokens, log_prob), row, ids in zip(growing, steps.tolist(), children.tolist(), strict=True):
            candidates += [([*tokens, token], log_prob + step) for step, token in zip(row, ids, strict=True)]
        best = sorted(candidates, key=score, reverse=True)[:beams]
    tokens, log_prob = best[0]
    return torch.cat([idx, torch.tensor([tokens], dtype=idx.dtype, device=idx.device)], dim=1), log_prob


# %% wrong_beam_drops_what_is_far_behind
# WRONG: drops hypotheses that are far behind the best, though one of them may still win

def beam_search(
    model: Callable[[Tensor], Tensor],
    idx: Tensor,
    *,
    beams: int,
    max_new_tokens: int,
    length_penalty: float = 0.0,
    eos_token_id: int | None = None,
) -> tuple[Tensor, float]:
    if beams < 1:
        raise ValueError(f"beams must be 1 or more, got {beams}")

    def score(hypothesis: tuple[list[int], float]) -> float:
        tokens, log_prob = hypothesis
        return log_prob / max(1, len(tokens)) ** length_penalty

    best: list[tuple[list[int], float]] = [([], 0.0)]  # new tokens, and the sum of their log probabilities
    for _ in range(max_new_tokens):
        candidates = [h for h in best if h[0][-1:] == [eos_token_id]]  # the finished ones stay as they are
        growing = [h for h in best if h[0][-1:] != [eos_token_id]]
        if not growing:
            break
        new_ids = torch.tensor([tokens for tokens, _ in growing], dtype=idx.dtype, device=idx.device)
        with torch.no_grad():
            logits = model(torch.cat([idx.expand(len(growing), -1), new_ids], dim=1))[:, -1]  # (len(growing), V)
        log_probs = log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32)))
        steps, children = log_probs.topk(min(beams, logits.shape[-1]))  # of one parent, more cannot survive
        for (tokens, log_prob), row, ids in zip(growing, steps.tolist(), children.tolist(), strict=True):
            candidates += [([*tokens, token], log_prob + step) for step, token in zip(row, ids, strict=True)]
        best = sorted(candidates, key=score, reverse=True)[:beams]
        best = [h for h in best if h[1] > best[0][1] - 4]
    tokens, log_prob = best[0]
    return torch.cat([idx, torch.tensor([tokens], dtype=idx.dtype, device=idx.device)], dim=1), log_prob


# %% wrong_beam_ends_with_first_finished_best
# WRONG: ends with the first finished hypothesis that is best, although a longer one may still overtake it

def beam_search(
    model: Callable[[Tensor], Tensor],
    idx: Tensor,
    *,
    beams: int,
    max_new_tokens: int,
    length_penalty: float = 0.0,
    eos_token_id: int | None = None,
) -> tuple[Tensor, float]:
    if beams < 1:
        raise ValueError(f"beams must be 1 or more, got {beams}")

    def score(hypothesis: tuple[list[int], float]) -> float:
        tokens, log_prob = hypothesis
        return log_prob / max(1, len(tokens)) ** length_penalty

    best: list[tuple[list[int], float]] = [([], 0.0)]  # new tokens, and the sum of their log probabilities
    for _ in range(max_new_tokens):
        candidates = [h for h in best if h[0][-1:] == [eos_token_id]]  # the finished ones stay as they are
        growing = [h for h in best if h[0][-1:] != [eos_token_id]]
        if not growing:
            break
        new_ids = torch.tensor([tokens for tokens, _ in growing], dtype=idx.dtype, device=idx.device)
        with torch.no_grad():
            logits = model(torch.cat([idx.expand(len(growing), -1), new_ids], dim=1))[:, -1]  # (len(growing), V)
        log_probs = log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32)))
        steps, children = log_probs.topk(min(beams, logits.shape[-1]))  # of one parent, more cannot survive
        for (tokens, log_prob), row, ids in zip(growing, steps.tolist(), children.tolist(), strict=True):
            candidates += [([*tokens, token], log_prob + step) for step, token in zip(row, ids, strict=True)]
        best = sorted(candidates, key=score, reverse=True)[:beams]
        if best[0][0][-1] == eos_token_id:
            break
    tokens, log_prob = best[0]
    return torch.cat([idx, torch.tensor([tokens], dtype=idx.dtype, device=idx.device)], dim=1), log_prob


# %% wrong_beam_eos_zero_is_none
# WRONG: an EOS of id 0 is taken for no EOS

def beam_search(
    model: Callable[[Tensor], Tensor],
    idx: Tensor,
    *,
    beams: int,
    max_new_tokens: int,
    length_penalty: float = 0.0,
    eos_token_id: int | None = None,
) -> tuple[Tensor, float]:
    if beams < 1:
        raise ValueError(f"beams must be 1 or more, got {beams}")

    def score(hypothesis: tuple[list[int], float]) -> float:
        tokens, log_prob = hypothesis
        return log_prob / max(1, len(tokens)) ** length_penalty

    eos_token_id = eos_token_id or None
    best: list[tuple[list[int], float]] = [([], 0.0)]  # new tokens, and the sum of their log probabilities
    for _ in range(max_new_tokens):
        candidates = [h for h in best if h[0][-1:] == [eos_token_id]]  # the finished ones stay as they are
        growing = [h for h in best if h[0][-1:] != [eos_token_id]]
        if not growing:
            break
        new_ids = torch.tensor([tokens for tokens, _ in growing], dtype=idx.dtype, device=idx.device)
        with torch.no_grad():
            logits = model(torch.cat([idx.expand(len(growing), -1), new_ids], dim=1))[:, -1]  # (len(growing), V)
        log_probs = log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32)))
        steps, children = log_probs.topk(min(beams, logits.shape[-1]))  # of one parent, more cannot survive
        for (tokens, log_prob), row, ids in zip(growing, steps.tolist(), children.tolist(), strict=True):
            candidates += [([*tokens, token], log_prob + step) for step, token in zip(row, ids, strict=True)]
        best = sorted(candidates, key=score, reverse=True)[:beams]
    tokens, log_prob = best[0]
    return torch.cat([idx, torch.tensor([tokens], dtype=idx.dtype, device=idx.device)], dim=1), log_prob


# %% wrong_beam_finished_expanded_free
# WRONG: finished hypotheses take any next token at no cost

def beam_search(model, idx, *, beams, max_new_tokens, length_penalty=0.0, eos_token_id=None):
    def score(hypothesis):
        tokens, log_prob = hypothesis
        return log_prob / max(1, len(tokens)) ** length_penalty

    best = [([], 0.0)]
    for _ in range(max_new_tokens):
        candidates, growing = [], best
        if not growing:
            break
        new_ids = torch.tensor([tokens for tokens, _ in growing], dtype=idx.dtype)
        logits = model(torch.cat([idx.expand(len(growing), -1), new_ids], dim=1))[:, -1]
        steps, children = log_softmax(logits).topk(min(beams, logits.shape[-1]))
        for (tokens, log_prob), row, ids in zip(growing, steps.tolist(), children.tolist()):
            candidates += [([*tokens, token], log_prob + (0.0 if tokens[-1:] == [eos_token_id] else step)) for step, token in zip(row, ids)]
        best = sorted(candidates, key=score, reverse=True)[:beams]
    tokens, log_prob = best[0]
    return torch.cat([idx, torch.tensor([tokens], dtype=idx.dtype)], dim=1), log_prob


# %% wrong_beam_finished_never_pushed_out
# WRONG: a finished hypothesis is never pushed out by better ones

def beam_search(
    model: Callable[[Tensor], Tensor],
    idx: Tensor,
    *,
    beams: int,
    max_new_tokens: int,
    length_penalty: float = 0.0,
    eos_token_id: int | None = None,
) -> tuple[Tensor, float]:
    if beams < 1:
        raise ValueError(f"beams must be 1 or more, got {beams}")

    def score(hypothesis: tuple[list[int], float]) -> float:
        tokens, log_prob = hypothesis
        return log_prob / max(1, len(tokens)) ** length_penalty

    best: list[tuple[list[int], float]] = [([], 0.0)]  # new tokens, and the sum of their log probabilities
    for _ in range(max_new_tokens):
        candidates = [h for h in best if h[0][-1:] == [eos_token_id]]  # the finished ones stay as they are
        growing = [h for h in best if h[0][-1:] != [eos_token_id]]
        finished = list(candidates)
        if not growing:
            break
        new_ids = torch.tensor([tokens for tokens, _ in growing], dtype=idx.dtype, device=idx.device)
        with torch.no_grad():
            logits = model(torch.cat([idx.expand(len(growing), -1), new_ids], dim=1))[:, -1]  # (len(growing), V)
        log_probs = log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32)))
        steps, children = log_probs.topk(min(beams, logits.shape[-1]))  # of one parent, more cannot survive
        for (tokens, log_prob), row, ids in zip(growing, steps.tolist(), children.tolist(), strict=True):
            candidates += [([*tokens, token], log_prob + step) for step, token in zip(row, ids, strict=True)]
        ranked = sorted(candidates, key=score, reverse=True)
        best = ranked[:beams] + [h for h in ranked[beams:] if h in finished]
    tokens, log_prob = max(best, key=score)
    return torch.cat([idx, torch.tensor([tokens], dtype=idx.dtype, device=idx.device)], dim=1), log_prob


# %% wrong_beam_flat_ids
# WRONG: gives the ids without the dimension of the batch

def beam_search(
    model: Callable[[Tensor], Tensor],
    idx: Tensor,
    *,
    beams: int,
    max_new_tokens: int,
    length_penalty: float = 0.0,
    eos_token_id: int | None = None,
) -> tuple[Tensor, float]:
    if beams < 1:
        raise ValueError(f"beams must be 1 or more, got {beams}")

    def score(hypothesis: tuple[list[int], float]) -> float:
        tokens, log_prob = hypothesis
        return log_prob / max(1, len(tokens)) ** length_penalty

    best: list[tuple[list[int], float]] = [([], 0.0)]  # new tokens, and the sum of their log probabilities
    for _ in range(max_new_tokens):
        candidates = [h for h in best if h[0][-1:] == [eos_token_id]]  # the finished ones stay as they are
        growing = [h for h in best if h[0][-1:] != [eos_token_id]]
        if not growing:
            break
        new_ids = torch.tensor([tokens for tokens, _ in growing], dtype=idx.dtype, device=idx.device)
        with torch.no_grad():
            logits = model(torch.cat([idx.expand(len(growing), -1), new_ids], dim=1))[:, -1]  # (len(growing), V)
        log_probs = log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32)))
        steps, children = log_probs.topk(min(beams, logits.shape[-1]))  # of one parent, more cannot survive
        for (tokens, log_prob), row, ids in zip(growing, steps.tolist(), children.tolist(), strict=True):
            candidates += [([*tokens, token], log_prob + step) for step, token in zip(row, ids, strict=True)]
        best = sorted(candidates, key=score, reverse=True)[:beams]
    tokens, log_prob = best[0]
    return torch.cat([idx, torch.tensor([tokens], dtype=idx.dtype, device=idx.device)], dim=1)[0], log_prob


# %% wrong_beam_frees_places
# WRONG: a finished hypothesis frees its place for a living one

def beam_search(
    model: Callable[[Tensor], Tensor],
    idx: Tensor,
    *,
    beams: int,
    max_new_tokens: int,
    length_penalty: float = 0.0,
    eos_token_id: int | None = None,
) -> tuple[Tensor, float]:
    if beams < 1:
        raise ValueError(f"beams must be 1 or more, got {beams}")

    def score(hypothesis: tuple[list[int], float]) -> float:
        tokens, log_prob = hypothesis
        return log_prob / max(1, len(tokens)) ** length_penalty

    best: list[tuple[list[int], float]] = [([], 0.0)]  # new tokens, and the sum of their log probabilities
    for _ in range(max_new_tokens):
        candidates = [h for h in best if h[0][-1:] == [eos_token_id]]  # the finished ones stay as they are
        growing = [h for h in best if h[0][-1:] != [eos_token_id]]
        if not growing:
            break
        new_ids = torch.tensor([tokens for tokens, _ in growing], dtype=idx.dtype, device=idx.device)
        with torch.no_grad():
            logits = model(torch.cat([idx.expand(len(growing), -1), new_ids], dim=1))[:, -1]  # (len(growing), V)
        log_probs = log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32)))
        steps, children = log_probs.topk(min(beams, logits.shape[-1]))  # of one parent, more cannot survive
        for (tokens, log_prob), row, ids in zip(growing, steps.tolist(), children.tolist(), strict=True):
            candidates += [([*tokens, token], log_prob + step) for step, token in zip(row, ids, strict=True)]
        ranked = sorted(candidates, key=score, reverse=True)
        finished = [h for h in ranked if h[0][-1] == eos_token_id]
        best = sorted(finished + [h for h in ranked if h not in finished][:beams], key=score, reverse=True)
    tokens, log_prob = best[0]
    return torch.cat([idx, torch.tensor([tokens], dtype=idx.dtype, device=idx.device)], dim=1), log_prob


# %% wrong_beam_hair_for_living
# WRONG: a living hypothesis wins against a finished one that is better by a hair

def beam_search(
    model: Callable[[Tensor], Tensor],
    idx: Tensor,
    *,
    beams: int,
    max_new_tokens: int,
    length_penalty: float = 0.0,
    eos_token_id: int | None = None,
) -> tuple[Tensor, float]:
    if beams < 1:
        raise ValueError(f"beams must be 1 or more, got {beams}")

    def score(hypothesis: tuple[list[int], float]) -> float:
        tokens, log_prob = hypothesis
        return log_prob / max(1, len(tokens)) ** length_penalty

    best: list[tuple[list[int], float]] = [([], 0.0)]  # new tokens, and the sum of their log probabilities
    for _ in range(max_new_tokens):
        candidates = [h for h in best if h[0][-1:] == [eos_token_id]]  # the finished ones stay as they are
        growing = [h for h in best if h[0][-1:] != [eos_token_id]]
        if not growing:
            break
        new_ids = torch.tensor([tokens for tokens, _ in growing], dtype=idx.dtype, device=idx.device)
        with torch.no_grad():
            logits = model(torch.cat([idx.expand(len(growing), -1), new_ids], dim=1))[:, -1]  # (len(growing), V)
        log_probs = log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32)))
        steps, children = log_probs.topk(min(beams, logits.shape[-1]))  # of one parent, more cannot survive
        for (tokens, log_prob), row, ids in zip(growing, steps.tolist(), children.tolist(), strict=True):
            candidates += [([*tokens, token], log_prob + step) for step, token in zip(row, ids, strict=True)]
        best = sorted(candidates, key=score, reverse=True)[:beams]
    tokens, log_prob = max(best, key=lambda h: (score(h) + 0.05 * (h[0][-1:] != [eos_token_id])))
    return torch.cat([idx, torch.tensor([tokens], dtype=idx.dtype, device=idx.device)], dim=1), log_prob


# %% wrong_beam_heap
# WRONG: a finished hypothesis frees its place for a living one

import heapq

def beam_search(model, idx, *, beams, max_new_tokens, length_penalty=0.0, eos_token_id=None):
    if beams < 1:
        raise ValueError("no beams")
    prompt = idx[0].tolist()
    live, done = [(0.0, ())], []
    norm = lambda s, n: s / max(n, 1) ** length_penalty
    for step in range(max_new_tokens):
        logits = model(torch.tensor([prompt + list(t) for _, t in live]))
        heap = []
        for (score, tokens), row in zip(live, log_softmax(logits[:, -1]).tolist()):
            for token, lp in enumerate(row):
                item = (score + lp, tokens + (token,))
                if len(heap) < 2 * beams:
                    heapq.heappush(heap, item)
                else:
                    heapq.heappushpop(heap, item)
        live = []
        for rank, item in enumerate(sorted(heap, reverse=True)):
            if item[1][-1] == eos_token_id:
                if rank < beams:
                    done.append(item)
            elif len(live) < beams:
                live.append(item)
        if not live:
            break
        if done and length_penalty == 0 and max(done)[0] >= live[0][0]:
            break
    score, tokens = max(done + live, key=lambda h: norm(h[0], len(h[1])))
    return torch.tensor([prompt + list(tokens)]), score


# %% wrong_beam_int32_ids
# WRONG: the ids come back as int32

def beam_search(
    model: Callable[[Tensor], Tensor],
    idx: Tensor,
    *,
    beams: int,
    max_new_tokens: int,
    length_penalty: float = 0.0,
    eos_token_id: int | None = None,
) -> tuple[Tensor, float]:
    if beams < 1:
        raise ValueError(f"beams must be 1 or more, got {beams}")

    def score(hypothesis: tuple[list[int], float]) -> float:
        tokens, log_prob = hypothesis
        return log_prob / max(1, len(tokens)) ** length_penalty

    best: list[tuple[list[int], float]] = [([], 0.0)]  # new tokens, and the sum of their log probabilities
    for _ in range(max_new_tokens):
        candidates = [h for h in best if h[0][-1:] == [eos_token_id]]  # the finished ones stay as they are
        growing = [h for h in best if h[0][-1:] != [eos_token_id]]
        if not growing:
            break
        new_ids = torch.tensor([tokens for tokens, _ in growing], dtype=idx.dtype, device=idx.device)
        with torch.no_grad():
            logits = model(torch.cat([idx.expand(len(growing), -1), new_ids], dim=1))[:, -1]  # (len(growing), V)
        log_probs = log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32)))
        steps, children = log_probs.topk(min(beams, logits.shape[-1]))  # of one parent, more cannot survive
        for (tokens, log_prob), row, ids in zip(growing, steps.tolist(), children.tolist(), strict=True):
            candidates += [([*tokens, token], log_prob + step) for step, token in zip(row, ids, strict=True)]
        best = sorted(candidates, key=score, reverse=True)[:beams]
    tokens, log_prob = best[0]
    return torch.cat([idx, torch.tensor([tokens], dtype=idx.dtype, device=idx.device)], dim=1).int(), log_prob


# %% wrong_beam_last_16_tokens
# WRONG: the model sees the last 16 tokens only

def beam_search(
    model: Callable[[Tensor], Tensor],
    idx: Tensor,
    *,
    beams: int,
    max_new_tokens: int,
    length_penalty: float = 0.0,
    eos_token_id: int | None = None,
) -> tuple[Tensor, float]:
    if beams < 1:
        raise ValueError(f"beams must be 1 or more, got {beams}")

    def score(hypothesis: tuple[list[int], float]) -> float:
        tokens, log_prob = hypothesis
        return log_prob / max(1, len(tokens)) ** length_penalty

    best: list[tuple[list[int], float]] = [([], 0.0)]  # new tokens, and the sum of their log probabilities
    for _ in range(max_new_tokens):
        candidates = [h for h in best if h[0][-1:] == [eos_token_id]]  # the finished ones stay as they are
        growing = [h for h in best if h[0][-1:] != [eos_token_id]]
        if not growing:
            break
        new_ids = torch.tensor([tokens for tokens, _ in growing], dtype=idx.dtype, device=idx.device)
        with torch.no_grad():
            logits = model(torch.cat([idx.expand(len(growing), -1), new_ids], dim=1)[:, -16:])[:, -1]  # (len(growing), V)
        log_probs = log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32)))
        steps, children = log_probs.topk(min(beams, logits.shape[-1]))  # of one parent, more cannot survive
        for (tokens, log_prob), row, ids in zip(growing, steps.tolist(), children.tolist(), strict=True):
            candidates += [([*tokens, token], log_prob + step) for step, token in zip(row, ids, strict=True)]
        best = sorted(candidates, key=score, reverse=True)[:beams]
    tokens, log_prob = best[0]
    return torch.cat([idx, torch.tensor([tokens], dtype=idx.dtype, device=idx.device)], dim=1), log_prob


# %% wrong_beam_last_finished_fail
# WRONG: when all hypotheses are finished there are no candidates left, and it fails

def beam_search(
    model: Callable[[Tensor], Tensor],
    idx: Tensor,
    *,
    beams: int,
    max_new_tokens: int,
    length_penalty: float = 0.0,
    eos_token_id: int | None = None,
) -> tuple[Tensor, float]:
    if beams < 1:
        raise ValueError(f"beams must be 1 or more, got {beams}")

    def score(hypothesis: tuple[list[int], float]) -> float:
        tokens, log_prob = hypothesis
        return log_prob / max(1, len(tokens)) ** length_penalty

    best: list[tuple[list[int], float]] = [([], 0.0)]  # new tokens, and the sum of their log probabilities
    for _ in range(max_new_tokens):
        candidates = [h for h in best if h[0][-1:] == [eos_token_id] and len(best) > 1]  # the finished ones stay as they are
        growing = [h for h in best if h[0][-1:] != [eos_token_id]]
        if not growing and len(best) > 1:
            break
        new_ids = torch.tensor([tokens for tokens, _ in growing], dtype=idx.dtype, device=idx.device)
        with torch.no_grad():
            logits = model(torch.cat([idx.expand(len(growing), -1), new_ids], dim=1))[:, -1]  # (len(growing), V)
        log_probs = log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32)))
        steps, children = log_probs.topk(min(beams, logits.shape[-1]))  # of one parent, more cannot survive
        for (tokens, log_prob), row, ids in zip(growing, steps.tolist(), children.tolist(), strict=True):
            candidates += [([*tokens, token], log_prob + step) for step, token in zip(row, ids, strict=True)]
        best = sorted(candidates, key=score, reverse=True)[:beams]
    tokens, log_prob = best[0]
    return torch.cat([idx, torch.tensor([tokens], dtype=idx.dtype, device=idx.device)], dim=1), log_prob


# %% wrong_beam_length_one_too_many
# WRONG: n of the length penalty is one too many

def beam_search(
    model: Callable[[Tensor], Tensor],
    idx: Tensor,
    *,
    beams: int,
    max_new_tokens: int,
    length_penalty: float = 0.0,
    eos_token_id: int | None = None,
) -> tuple[Tensor, float]:
    if beams < 1:
        raise ValueError(f"beams must be 1 or more, got {beams}")

    def score(hypothesis: tuple[list[int], float]) -> float:
        tokens, log_prob = hypothesis
        return log_prob / (1 + len(tokens)) ** length_penalty

    best: list[tuple[list[int], float]] = [([], 0.0)]  # new tokens, and the sum of their log probabilities
    for _ in range(max_new_tokens):
        candidates = [h for h in best if h[0][-1:] == [eos_token_id]]  # the finished ones stay as they are
        growing = [h for h in best if h[0][-1:] != [eos_token_id]]
        if not growing:
            break
        new_ids = torch.tensor([tokens for tokens, _ in growing], dtype=idx.dtype, device=idx.device)
        with torch.no_grad():
            logits = model(torch.cat([idx.expand(len(growing), -1), new_ids], dim=1))[:, -1]  # (len(growing), V)
        log_probs = log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32)))
        steps, children = log_probs.topk(min(beams, logits.shape[-1]))  # of one parent, more cannot survive
        for (tokens, log_prob), row, ids in zip(growing, steps.tolist(), children.tolist(), strict=True):
            candidates += [([*tokens, token], log_prob + step) for step, token in zip(row, ids, strict=True)]
        best = sorted(candidates, key=score, reverse=True)[:beams]
    tokens, log_prob = best[0]
    return torch.cat([idx, torch.tensor([tokens], dtype=idx.dtype, device=idx.device)], dim=1), log_prob


# %% wrong_beam_more_beams_than_tokens
# WRONG: never more beams than the vocabulary has tokens

def beam_search(
    model: Callable[[Tensor], Tensor],
    idx: Tensor,
    *,
    beams: int,
    max_new_tokens: int,
    length_penalty: float = 0.0,
    eos_token_id: int | None = None,
) -> tuple[Tensor, float]:
    if beams < 1:
        raise ValueError(f"beams must be 1 or more, got {beams}")

    def score(hypothesis: tuple[list[int], float]) -> float:
        tokens, log_prob = hypothesis
        return log_prob / max(1, len(tokens)) ** length_penalty

    best: list[tuple[list[int], float]] = [([], 0.0)]  # new tokens, and the sum of their log probabilities
    for _ in range(max_new_tokens):
        candidates = [h for h in best if h[0][-1:] == [eos_token_id]]  # the finished ones stay as they are
        growing = [h for h in best if h[0][-1:] != [eos_token_id]]
        if not growing:
            break
        new_ids = torch.tensor([tokens for tokens, _ in growing], dtype=idx.dtype, device=idx.device)
        with torch.no_grad():
            logits = model(torch.cat([idx.expand(len(growing), -1), new_ids], dim=1))[:, -1]  # (len(growing), V)
        log_probs = log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32)))
        steps, children = log_probs.topk(min(beams, logits.shape[-1]))  # of one parent, more cannot survive
        for (tokens, log_prob), row, ids in zip(growing, steps.tolist(), children.tolist(), strict=True):
            candidates += [([*tokens, token], log_prob + step) for step, token in zip(row, ids, strict=True)]
        best = sorted(candidates, key=score, reverse=True)[: min(beams, logits.shape[-1])]
    tokens, log_prob = best[0]
    return torch.cat([idx, torch.tensor([tokens], dtype=idx.dtype, device=idx.device)], dim=1), log_prob


# %% wrong_beam_moves_random_state
# WRONG: breaks ties by random numbers

def beam_search(
    model: Callable[[Tensor], Tensor],
    idx: Tensor,
    *,
    beams: int,
    max_new_tokens: int,
    length_penalty: float = 0.0,
    eos_token_id: int | None = None,
) -> tuple[Tensor, float]:
    if beams < 1:
        raise ValueError(f"beams must be 1 or more, got {beams}")

    torch.rand(1)

    def score(hypothesis: tuple[list[int], float]) -> float:
        tokens, log_prob = hypothesis
        return log_prob / max(1, len(tokens)) ** length_penalty

    best: list[tuple[list[int], float]] = [([], 0.0)]  # new tokens, and the sum of their log probabilities
    for _ in range(max_new_tokens):
        candidates = [h for h in best if h[0][-1:] == [eos_token_id]]  # the finished ones stay as they are
        growing = [h for h in best if h[0][-1:] != [eos_token_id]]
        if not growing:
            break
        new_ids = torch.tensor([tokens for tokens, _ in growing], dtype=idx.dtype, device=idx.device)
        with torch.no_grad():
            logits = model(torch.cat([idx.expand(len(growing), -1), new_ids], dim=1))[:, -1]  # (len(growing), V)
        log_probs = log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32)))
        steps, children = log_probs.topk(min(beams, logits.shape[-1]))  # of one parent, more cannot survive
        for (tokens, log_prob), row, ids in zip(growing, steps.tolist(), children.tolist(), strict=True):
            candidates += [([*tokens, token], log_prob + step) for step, token in zip(row, ids, strict=True)]
        best = sorted(candidates, key=score, reverse=True)[:beams]
    tokens, log_prob = best[0]
    return torch.cat([idx, torch.tensor([tokens], dtype=idx.dtype, device=idx.device)], dim=1), log_prob


# %% wrong_beam_new_tokens_for_prompt_length
# WRONG: allows max_new_tokens positions in all, prompt included

def beam_search(
    model: Callable[[Tensor], Tensor],
    idx: Tensor,
    *,
    beams: int,
    max_new_tokens: int,
    length_penalty: float = 0.0,
    eos_token_id: int | None = None,
) -> tuple[Tensor, float]:
    if beams < 1:
        raise ValueError(f"beams must be 1 or more, got {beams}")

    def score(hypothesis: tuple[list[int], float]) -> float:
        tokens, log_prob = hypothesis
        return log_prob / max(1, len(tokens)) ** length_penalty

    best: list[tuple[list[int], float]] = [([], 0.0)]  # new tokens, and the sum of their log probabilities
    for _ in range(max(0, max_new_tokens - idx.shape[1] + 1)):
        candidates = [h for h in best if h[0][-1:] == [eos_token_id]]  # the finished ones stay as they are
        growing = [h for h in best if h[0][-1:] != [eos_token_id]]
        if not growing:
            break
        new_ids = torch.tensor([tokens for tokens, _ in growing], dtype=idx.dtype, device=idx.device)
        with torch.no_grad():
            logits = model(torch.cat([idx.expand(len(growing), -1), new_ids], dim=1))[:, -1]  # (len(growing), V)
        log_probs = log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32)))
        steps, children = log_probs.topk(min(beams, logits.shape[-1]))  # of one parent, more cannot survive
        for (tokens, log_prob), row, ids in zip(growing, steps.tolist(), children.tolist(), strict=True):
            candidates += [([*tokens, token], log_prob + step) for step, token in zip(row, ids, strict=True)]
        best = sorted(candidates, key=score, reverse=True)[:beams]
    tokens, log_prob = best[0]
    return torch.cat([idx, torch.tensor([tokens], dtype=idx.dtype, device=idx.device)], dim=1), log_prob


# %% wrong_beam_no_new_tokens_fails
# WRONG: max_new_tokens = 0 fails

def beam_search(
    model: Callable[[Tensor], Tensor],
    idx: Tensor,
    *,
    beams: int,
    max_new_tokens: int,
    length_penalty: float = 0.0,
    eos_token_id: int | None = None,
) -> tuple[Tensor, float]:
    if beams < 1:
        raise ValueError(f"beams must be 1 or more, got {beams}")

    def score(hypothesis: tuple[list[int], float]) -> float:
        tokens, log_prob = hypothesis
        return log_prob / len(tokens) ** length_penalty

    best: list[tuple[list[int], float]] = [([], 0.0)]  # new tokens, and the sum of their log probabilities
    for _ in range(max_new_tokens):
        candidates = [h for h in best if h[0][-1:] == [eos_token_id]]  # the finished ones stay as they are
        growing = [h for h in best if h[0][-1:] != [eos_token_id]]
        if not growing:
            break
        new_ids = torch.tensor([tokens for tokens, _ in growing], dtype=idx.dtype, device=idx.device)
        with torch.no_grad():
            logits = model(torch.cat([idx.expand(len(growing), -1), new_ids], dim=1))[:, -1]  # (len(growing), V)
        log_probs = log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32)))
        steps, children = log_probs.topk(min(beams, logits.shape[-1]))  # of one parent, more cannot survive
        for (tokens, log_prob), row, ids in zip(growing, steps.tolist(), children.tolist(), strict=True):
            candidates += [([*tokens, token], log_prob + step) for step, token in zip(row, ids, strict=True)]
        best = sorted(candidates, key=score, reverse=True)[:beams]
    tokens, log_prob = best[0]
    score(best[0]) / len(tokens)
    return torch.cat([idx, torch.tensor([tokens], dtype=idx.dtype, device=idx.device)], dim=1), log_prob


# %% wrong_beam_nothing_refused
# WRONG: no ValueError for fewer than one beam

def beam_search(
    model: Callable[[Tensor], Tensor],
    idx: Tensor,
    *,
    beams: int,
    max_new_tokens: int,
    length_penalty: float = 0.0,
    eos_token_id: int | None = None,
) -> tuple[Tensor, float]:
    beams = max(1, beams)

    def score(hypothesis: tuple[list[int], float]) -> float:
        tokens, log_prob = hypothesis
        return log_prob / max(1, len(tokens)) ** length_penalty

    best: list[tuple[list[int], float]] = [([], 0.0)]  # new tokens, and the sum of their log probabilities
    for _ in range(max_new_tokens):
        candidates = [h for h in best if h[0][-1:] == [eos_token_id]]  # the finished ones stay as they are
        growing = [h for h in best if h[0][-1:] != [eos_token_id]]
        if not growing:
            break
        new_ids = torch.tensor([tokens for tokens, _ in growing], dtype=idx.dtype, device=idx.device)
        with torch.no_grad():
            logits = model(torch.cat([idx.expand(len(growing), -1), new_ids], dim=1))[:, -1]  # (len(growing), V)
        log_probs = log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32)))
        steps, children = log_probs.topk(min(beams, logits.shape[-1]))  # of one parent, more cannot survive
        for (tokens, log_prob), row, ids in zip(growing, steps.tolist(), children.tolist(), strict=True):
            candidates += [([*tokens, token], log_prob + step) for step, token in zip(row, ids, strict=True)]
        best = sorted(candidates, key=score, reverse=True)[:beams]
    tokens, log_prob = best[0]
    return torch.cat([idx, torch.tensor([tokens], dtype=idx.dtype, device=idx.device)], dim=1), log_prob


# %% wrong_beam_one_at_a_time
# WRONG: finished hypotheses are set aside and take no place among the beams; every EOS counts, however improbable

def beam_search(model, idx, *, beams, max_new_tokens, length_penalty=0.0, eos_token_id=None):
    if beams < 1:
        raise ValueError("no beams")
    start = idx.shape[1]
    live, done = [(idx, torch.zeros((), dtype=torch.float64))], []
    for _ in range(max_new_tokens):
        grown = []
        for ids, total in live:
            logp = torch.log_softmax(model(ids)[0, -1].double(), dim=-1)
            for token in range(logp.numel()):
                grown.append((torch.cat([ids, torch.tensor([[token]])], 1), total + logp[token]))
        grown.sort(key=lambda h: float(h[1]), reverse=True)
        live = []
        for ids, total in grown:
            if eos_token_id is not None and int(ids[0, -1]) == eos_token_id:
                done.append((ids, total))
            else:
                live.append((ids, total))
            if len(live) == beams:
                break
    return max(done + live, key=lambda h: float(h[1]) / (h[0].shape[1] - start) ** length_penalty)


# %% wrong_beam_one_refused
# WRONG: refuses one beam, which is greedy decoding

def beam_search(
    model: Callable[[Tensor], Tensor],
    idx: Tensor,
    *,
    beams: int,
    max_new_tokens: int,
    length_penalty: float = 0.0,
    eos_token_id: int | None = None,
) -> tuple[Tensor, float]:
    if beams < 2:
        raise ValueError(f"beams must be 1 or more, got {beams}")

    def score(hypothesis: tuple[list[int], float]) -> float:
        tokens, log_prob = hypothesis
        return log_prob / max(1, len(tokens)) ** length_penalty

    best: list[tuple[list[int], float]] = [([], 0.0)]  # new tokens, and the sum of their log probabilities
    for _ in range(max_new_tokens):
        candidates = [h for h in best if h[0][-1:] == [eos_token_id]]  # the finished ones stay as they are
        growing = [h for h in best if h[0][-1:] != [eos_token_id]]
        if not growing:
            break
        new_ids = torch.tensor([tokens for tokens, _ in growing], dtype=idx.dtype, device=idx.device)
        with torch.no_grad():
            logits = model(torch.cat([idx.expand(len(growing), -1), new_ids], dim=1))[:, -1]  # (len(growing), V)
        log_probs = log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32)))
        steps, children = log_probs.topk(min(beams, logits.shape[-1]))  # of one parent, more cannot survive
        for (tokens, log_prob), row, ids in zip(growing, steps.tolist(), children.tolist(), strict=True):
            candidates += [([*tokens, token], log_prob + step) for step, token in zip(row, ids, strict=True)]
        best = sorted(candidates, key=score, reverse=True)[:beams]
    tokens, log_prob = best[0]
    return torch.cat([idx, torch.tensor([tokens], dtype=idx.dtype, device=idx.device)], dim=1), log_prob


# %% wrong_beam_padded_answer
# WRONG: the answer is padded with EOS up to max_new_tokens

def beam_search(model, idx, *, beams, max_new_tokens, length_penalty=0.0, eos_token_id=None):
    if beams < 1:
        raise ValueError("no beams")
    rows = [(idx[0].tolist(), 0.0, False, 0)]
    for _ in range(max_new_tokens):
        logp = model(torch.tensor([r[0] for r in rows]))[:, -1].double().log_softmax(-1)
        pool = []
        for (ids, s, over, n), lp in zip(rows, logp):
            if over:
                pool.append((ids + [eos_token_id], s, True, n))
                continue
            top = lp.topk(min(beams, lp.numel()))
            for v, t in zip(top.values.tolist(), top.indices.tolist()):
                pool.append((ids + [t], s + v, t == eos_token_id, n + 1))
        pool.sort(key=lambda r: r[1] / r[3] ** length_penalty, reverse=True)
        rows = pool[:beams]
    best = rows[0]
    return torch.tensor([best[0]]), torch.tensor([best[1]])


# %% wrong_beam_penalty_at_most_one
# WRONG: a length penalty above 1 is taken for 1

def beam_search(
    model: Callable[[Tensor], Tensor],
    idx: Tensor,
    *,
    beams: int,
    max_new_tokens: int,
    length_penalty: float = 0.0,
    eos_token_id: int | None = None,
) -> tuple[Tensor, float]:
    if beams < 1:
        raise ValueError(f"beams must be 1 or more, got {beams}")

    def score(hypothesis: tuple[list[int], float]) -> float:
        tokens, log_prob = hypothesis
        return log_prob / max(1, len(tokens)) ** min(1.0, length_penalty)

    best: list[tuple[list[int], float]] = [([], 0.0)]  # new tokens, and the sum of their log probabilities
    for _ in range(max_new_tokens):
        candidates = [h for h in best if h[0][-1:] == [eos_token_id]]  # the finished ones stay as they are
        growing = [h for h in best if h[0][-1:] != [eos_token_id]]
        if not growing:
            break
        new_ids = torch.tensor([tokens for tokens, _ in growing], dtype=idx.dtype, device=idx.device)
        with torch.no_grad():
            logits = model(torch.cat([idx.expand(len(growing), -1), new_ids], dim=1))[:, -1]  # (len(growing), V)
        log_probs = log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32)))
        steps, children = log_probs.topk(min(beams, logits.shape[-1]))  # of one parent, more cannot survive
        for (tokens, log_prob), row, ids in zip(growing, steps.tolist(), children.tolist(), strict=True):
            candidates += [([*tokens, token], log_prob + step) for step, token in zip(row, ids, strict=True)]
        best = sorted(candidates, key=score, reverse=True)[:beams]
    tokens, log_prob = best[0]
    return torch.cat([idx, torch.tensor([tokens], dtype=idx.dtype, device=idx.device)], dim=1), log_prob


# %% wrong_beam_product_in_float32
# WRONG: probabilities are multiplied in float32: long sequences underflow

def beam_search(model, idx, *, beams, max_new_tokens, length_penalty=0.0, eos_token_id=None):
    best = [([], torch.ones(()))]
    for _ in range(max_new_tokens):
        pool = [h for h in best if h[0][-1:] == [eos_token_id]]
        for tokens, prob in best:
            if tokens[-1:] == [eos_token_id]:
                continue
            ids = torch.cat([idx, torch.tensor([tokens], dtype=idx.dtype)], dim=1)
            probs = softmax(model(ids)[0, -1].float())
            values, children = probs.topk(min(beams, len(probs)))
            pool += [([*tokens, t], prob * p) for t, p in zip(children.tolist(), values)]
        best = sorted(pool, key=lambda h: float(h[1].log()) / max(1, len(h[0])) ** length_penalty, reverse=True)[:beams]
    tokens, prob = best[0]
    return torch.cat([idx, torch.tensor([tokens], dtype=idx.dtype)], dim=1), float(prob.log())


# %% wrong_beam_product_in_float64
# WRONG: probabilities are multiplied in Python floats: longer sequences underflow

import math

def beam_search(model, idx, *, beams, max_new_tokens, length_penalty=0.0, eos_token_id=None):
    log = lambda p: math.log(p) if p > 0 else float("-inf")
    best = [([], 1.0)]
    for _ in range(max_new_tokens):
        pool = [h for h in best if h[0][-1:] == [eos_token_id]]
        for tokens, prob in best:
            if tokens[-1:] == [eos_token_id]:
                continue
            ids = torch.cat([idx, torch.tensor([tokens], dtype=idx.dtype)], dim=1)
            values, children = softmax(model(ids)[0, -1].double()).topk(min(beams, model(ids).shape[-1]))
            pool += [([*tokens, t], prob * p) for t, p in zip(children.tolist(), values.tolist())]
        best = sorted(pool, key=lambda h: log(h[1]) / max(1, len(h[0])) ** length_penalty, reverse=True)[:beams]
    tokens, prob = best[0]
    return torch.cat([idx, torch.tensor([tokens], dtype=idx.dtype)], dim=1), log(prob)


# %% wrong_beam_ranked_by_length_at_the_end
# WRONG: the length penalty ranks only at the end

def beam_search(
    model: Callable[[Tensor], Tensor],
    idx: Tensor,
    *,
    beams: int,
    max_new_tokens: int,
    length_penalty: float = 0.0,
    eos_token_id: int | None = None,
) -> tuple[Tensor, float]:
    if beams < 1:
        raise ValueError(f"beams must be 1 or more, got {beams}")

    def score(hypothesis: tuple[list[int], float]) -> float:
        tokens, log_prob = hypothesis
        return log_prob / max(1, len(tokens)) ** length_penalty

    best: list[tuple[list[int], float]] = [([], 0.0)]  # new tokens, and the sum of their log probabilities
    for _ in range(max_new_tokens):
        candidates = [h for h in best if h[0][-1:] == [eos_token_id]]  # the finished ones stay as they are
        growing = [h for h in best if h[0][-1:] != [eos_token_id]]
        if not growing:
            break
        new_ids = torch.tensor([tokens for tokens, _ in growing], dtype=idx.dtype, device=idx.device)
        with torch.no_grad():
            logits = model(torch.cat([idx.expand(len(growing), -1), new_ids], dim=1))[:, -1]  # (len(growing), V)
        log_probs = log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32)))
        steps, children = log_probs.topk(min(beams, logits.shape[-1]))  # of one parent, more cannot survive
        for (tokens, log_prob), row, ids in zip(growing, steps.tolist(), children.tolist(), strict=True):
            candidates += [([*tokens, token], log_prob + step) for step, token in zip(row, ids, strict=True)]
        best = sorted(candidates, key=lambda h: h[1], reverse=True)[:beams]
    tokens, log_prob = max(best, key=score)
    return torch.cat([idx, torch.tensor([tokens], dtype=idx.dtype, device=idx.device)], dim=1), log_prob


# %% wrong_beam_ranked_by_length_on_the_way
# WRONG: the length penalty ranks on the way, and not at the end

def beam_search(
    model: Callable[[Tensor], Tensor],
    idx: Tensor,
    *,
    beams: int,
    max_new_tokens: int,
    length_penalty: float = 0.0,
    eos_token_id: int | None = None,
) -> tuple[Tensor, float]:
    if beams < 1:
        raise ValueError(f"beams must be 1 or more, got {beams}")

    def score(hypothesis: tuple[list[int], float]) -> float:
        tokens, log_prob = hypothesis
        return log_prob / max(1, len(tokens)) ** length_penalty

    best: list[tuple[list[int], float]] = [([], 0.0)]  # new tokens, and the sum of their log probabilities
    for _ in range(max_new_tokens):
        candidates = [h for h in best if h[0][-1:] == [eos_token_id]]  # the finished ones stay as they are
        growing = [h for h in best if h[0][-1:] != [eos_token_id]]
        if not growing:
            break
        new_ids = torch.tensor([tokens for tokens, _ in growing], dtype=idx.dtype, device=idx.device)
        with torch.no_grad():
            logits = model(torch.cat([idx.expand(len(growing), -1), new_ids], dim=1))[:, -1]  # (len(growing), V)
        log_probs = log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32)))
        steps, children = log_probs.topk(min(beams, logits.shape[-1]))  # of one parent, more cannot survive
        for (tokens, log_prob), row, ids in zip(growing, steps.tolist(), children.tolist(), strict=True):
            candidates += [([*tokens, token], log_prob + step) for step, token in zip(row, ids, strict=True)]
        best = sorted(candidates, key=score, reverse=True)[:beams]
    tokens, log_prob = max(best, key=lambda h: h[1])
    return torch.cat([idx, torch.tensor([tokens], dtype=idx.dtype, device=idx.device)], dim=1), log_prob


# %% wrong_beam_sums_in_half
# WRONG: log probabilities are summed in the dtype of the model

def beam_search(
    model: Callable[[Tensor], Tensor],
    idx: Tensor,
    *,
    beams: int,
    max_new_tokens: int,
    length_penalty: float = 0.0,
    eos_token_id: int | None = None,
) -> tuple[Tensor, float]:
    if beams < 1:
        raise ValueError(f"beams must be 1 or more, got {beams}")

    def score(hypothesis: tuple[list[int], float]) -> float:
        tokens, log_prob = hypothesis
        return log_prob / max(1, len(tokens)) ** length_penalty

    best: list[tuple[list[int], float]] = [([], 0.0)]  # new tokens, and the sum of their log probabilities
    for _ in range(max_new_tokens):
        candidates = [h for h in best if h[0][-1:] == [eos_token_id]]  # the finished ones stay as they are
        growing = [h for h in best if h[0][-1:] != [eos_token_id]]
        if not growing:
            break
        new_ids = torch.tensor([tokens for tokens, _ in growing], dtype=idx.dtype, device=idx.device)
        with torch.no_grad():
            logits = model(torch.cat([idx.expand(len(growing), -1), new_ids], dim=1))[:, -1]  # (len(growing), V)
        log_probs = log_softmax(logits)
        steps, children = log_probs.topk(min(beams, logits.shape[-1]))  # of one parent, more cannot survive
        for (tokens, log_prob), row, ids in zip(growing, steps.tolist(), children.tolist(), strict=True):
            candidates += [([*tokens, token], float(torch.tensor(log_prob + step, dtype=logits.dtype))) for step, token in zip(row, ids, strict=True)]
        best = sorted(candidates, key=score, reverse=True)[:beams]
    tokens, log_prob = best[0]
    return torch.cat([idx, torch.tensor([tokens], dtype=idx.dtype, device=idx.device)], dim=1), log_prob


# %% wrong_beam_zero_allowed
# WRONG: zero beams are not refused

def beam_search(
    model: Callable[[Tensor], Tensor],
    idx: Tensor,
    *,
    beams: int,
    max_new_tokens: int,
    length_penalty: float = 0.0,
    eos_token_id: int | None = None,
) -> tuple[Tensor, float]:
    if beams < 0:
        raise ValueError(f"beams must be 1 or more, got {beams}")

    def score(hypothesis: tuple[list[int], float]) -> float:
        tokens, log_prob = hypothesis
        return log_prob / max(1, len(tokens)) ** length_penalty

    best: list[tuple[list[int], float]] = [([], 0.0)]  # new tokens, and the sum of their log probabilities
    for _ in range(max_new_tokens):
        candidates = [h for h in best if h[0][-1:] == [eos_token_id]]  # the finished ones stay as they are
        growing = [h for h in best if h[0][-1:] != [eos_token_id]]
        if not growing:
            break
        new_ids = torch.tensor([tokens for tokens, _ in growing], dtype=idx.dtype, device=idx.device)
        with torch.no_grad():
            logits = model(torch.cat([idx.expand(len(growing), -1), new_ids], dim=1))[:, -1]  # (len(growing), V)
        log_probs = log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32)))
        steps, children = log_probs.topk(min(beams or 1, logits.shape[-1]))  # of one parent, more cannot survive
        for (tokens, log_prob), row, ids in zip(growing, steps.tolist(), children.tolist(), strict=True):
            candidates += [([*tokens, token], log_prob + step) for step, token in zip(row, ids, strict=True)]
        best = sorted(candidates, key=score, reverse=True)[: beams or 1]
    tokens, log_prob = best[0]
    return torch.cat([idx, torch.tensor([tokens], dtype=idx.dtype, device=idx.device)], dim=1), log_prob

# %% wrong_beam_always_normalised, of right_beam_plain
# WRONG: the log probability is always divided by the length
# -     if beams < 1:
# -         raise ValueError(f"beams must be 1 or more, got {beams}")
# -
# ...
# -         return log_prob / max(1, len(tokens)) ** length_penalty
# +         return log_prob / max(1, len(tokens)) ** max(length_penalty, 1.0)
# ...
# -         steps, children = log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32))).topk(min(beams, logits.shape[-1]))
# +         steps, children = log_softmax(logits).topk(min(beams, logits.shape[-1]))

# %% wrong_beam_best_child_of_each, of right_beam_plain
# WRONG: each hypothesis keeps its own best child: beams never compete
# -     if beams < 1:
# -         raise ValueError(f"beams must be 1 or more, got {beams}")
# -
# ...
# -         steps, children = log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32))).topk(min(beams, logits.shape[-1]))
# +         steps, children = log_softmax(logits).topk(min(beams, logits.shape[-1]))
# ...
# -         best = sorted(candidates, key=score, reverse=True)[:beams]
# +         best = sorted(candidates, key=score, reverse=True)[:beams] if len(growing) == 1 and not growing[0][0] else [max((c for c in candidates if c[0][:-1] == g[0]), key=score) for g in growing] + [h for h in best if h[0][-1:] == [eos_token_id]]
# +         best.sort(key=score, reverse=True)

# %% wrong_beam_changes_the_prompt, of right_beam_plain
# WRONG: the prompt is overwritten in place
# -     if beams < 1:
# -         raise ValueError(f"beams must be 1 or more, got {beams}")
# -
# ...
#       best = [([], 0.0)]
# +     keep = idx.clone()
# +     idx[0, 0] = 0
# +     idx_after = idx
# +     idx = keep
# ...
# -         steps, children = log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32))).topk(min(beams, logits.shape[-1]))
# +         steps, children = log_softmax(logits).topk(min(beams, logits.shape[-1]))

# %% wrong_beam_copies_of_the_prompt, of right_beam_plain
# WRONG: starts from `beams` copies of the prompt: all hypotheses are equal
# -     if beams < 1:
# -         raise ValueError(f"beams must be 1 or more, got {beams}")
# -
# ...
# -     best = [([], 0.0)]
# +     best = [([], 0.0)] * beams
# ...
# -         steps, children = log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32))).topk(min(beams, logits.shape[-1]))
# +         steps, children = log_softmax(logits).topk(min(beams, logits.shape[-1]))

# %% wrong_beam_eos_at_end_of_prompt, of right_beam_plain
# WRONG: a prompt that ends with EOS is taken for finished
# -     if beams < 1:
# -         raise ValueError(f"beams must be 1 or more, got {beams}")
# -
# ...
#       best = [([], 0.0)]
# +     if eos_token_id is not None and int(idx[0, -1]) == eos_token_id:
# +         max_new_tokens = 0
# ...
# -         steps, children = log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32))).topk(min(beams, logits.shape[-1]))
# +         steps, children = log_softmax(logits).topk(min(beams, logits.shape[-1]))

# %% wrong_beam_eos_in_prompt_counts, of right_beam_plain
# WRONG: an EOS in the prompt finishes the search
# -     if beams < 1:
# -         raise ValueError(f"beams must be 1 or more, got {beams}")
# -
# ...
#       best = [([], 0.0)]
# +     if eos_token_id is not None and eos_token_id in idx[0].tolist():
# +         max_new_tokens = 0
# ...
# -         steps, children = log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32))).topk(min(beams, logits.shape[-1]))
# +         steps, children = log_softmax(logits).topk(min(beams, logits.shape[-1]))

# %% wrong_beam_eos_not_counted, of right_beam_plain
# WRONG: the probability of EOS is left out
# -     if beams < 1:
# -         raise ValueError(f"beams must be 1 or more, got {beams}")
# -
# ...
# -         steps, children = log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32))).topk(min(beams, logits.shape[-1]))
# +         steps, children = log_softmax(logits).topk(min(beams, logits.shape[-1]))
#           for (tokens, log_prob), row, ids in zip(growing, steps.tolist(), children.tolist()):
# -             candidates += [([*tokens, token], log_prob + step) for step, token in zip(row, ids)]
# +             candidates += [([*tokens, token], log_prob + (0.0 if token == eos_token_id else step)) for step, token in zip(row, ids)]

# %% wrong_beam_eos_removed, of right_beam_plain
# WRONG: EOS is cut from the ids
# -     if beams < 1:
# -         raise ValueError(f"beams must be 1 or more, got {beams}")
# -
# ...
# -         steps, children = log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32))).topk(min(beams, logits.shape[-1]))
# +         steps, children = log_softmax(logits).topk(min(beams, logits.shape[-1]))
# ...
#       tokens, log_prob = best[0]
# +     if tokens[-1:] == [eos_token_id]:
# +         tokens = tokens[:-1]

# %% wrong_beam_finished_dropped, of right_beam_plain
# WRONG: finished hypotheses are thrown away while others grow
# -     if beams < 1:
# -         raise ValueError(f"beams must be 1 or more, got {beams}")
# -
# ...
# -         candidates = [h for h in best if h[0][-1:] == [eos_token_id]]
# +         candidates = []
# ...
# -         steps, children = log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32))).topk(min(beams, logits.shape[-1]))
# +         steps, children = log_softmax(logits).topk(min(beams, logits.shape[-1]))

# %% wrong_beam_finished_expanded, of right_beam_plain
# WRONG: finished hypotheses are expanded: tokens are appended after EOS
# -     if beams < 1:
# -         raise ValueError(f"beams must be 1 or more, got {beams}")
# -
# ...
# -         candidates = [h for h in best if h[0][-1:] == [eos_token_id]]
# -         growing = [h for h in best if h[0][-1:] != [eos_token_id]]
# +         candidates, growing = [], best
# ...
# -         steps, children = log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32))).topk(min(beams, logits.shape[-1]))
# +         steps, children = log_softmax(logits).topk(min(beams, logits.shape[-1]))

# %% wrong_beam_finished_pay_for_padding, of right_beam_plain
# WRONG: finished hypotheses get EOS appended and pay for it
# -     if beams < 1:
# -         raise ValueError(f"beams must be 1 or more, got {beams}")
# -
# ...
# -         candidates = [h for h in best if h[0][-1:] == [eos_token_id]]
# +         candidates = [(h[0] + [eos_token_id], h[1] - 1.0) for h in best if h[0][-1:] == [eos_token_id]]
# ...
# -         steps, children = log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32))).topk(min(beams, logits.shape[-1]))
# +         steps, children = log_softmax(logits).topk(min(beams, logits.shape[-1]))

# %% wrong_beam_first_position, of right_beam_plain
# WRONG: the first position of the model is read
# -     if beams < 1:
# -         raise ValueError(f"beams must be 1 or more, got {beams}")
# -
# ...
# -         logits = model(torch.cat([idx.expand(len(growing), -1), new_ids], dim=1))[:, -1]
# -         steps, children = log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32))).topk(min(beams, logits.shape[-1]))
# +         logits = model(torch.cat([idx.expand(len(growing), -1), new_ids], dim=1))[:, 0]
# +         steps, children = log_softmax(logits).topk(min(beams, logits.shape[-1]))

# %% wrong_beam_forgets_new_tokens, of right_beam_plain
# WRONG: the model sees the prompt and the last new token only
# -     if beams < 1:
# -         raise ValueError(f"beams must be 1 or more, got {beams}")
# -
# ...
# -         new_ids = torch.tensor([tokens for tokens, _ in growing], dtype=idx.dtype)
# +         new_ids = torch.tensor([tokens[-1:] for tokens, _ in growing], dtype=idx.dtype)
#           logits = model(torch.cat([idx.expand(len(growing), -1), new_ids], dim=1))[:, -1]
# -         steps, children = log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32))).topk(min(beams, logits.shape[-1]))
# +         steps, children = log_softmax(logits).topk(min(beams, logits.shape[-1]))

# %% wrong_beam_forgets_prompt, of right_beam_plain
# WRONG: the model sees only the last token
# -     if beams < 1:
# -         raise ValueError(f"beams must be 1 or more, got {beams}")
# -
# ...
# -         logits = model(torch.cat([idx.expand(len(growing), -1), new_ids], dim=1))[:, -1]
# -         steps, children = log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32))).topk(min(beams, logits.shape[-1]))
# +         logits = model(torch.cat([idx.expand(len(growing), -1), new_ids], dim=1)[:, -1:])[:, -1]
# +         steps, children = log_softmax(logits).topk(min(beams, logits.shape[-1]))

# %% wrong_beam_greedy, of right_beam_plain
# WRONG: one hypothesis, whatever beams says
# -     if beams < 1:
# -         raise ValueError(f"beams must be 1 or more, got {beams}")
# -
# ...
# -         steps, children = log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32))).topk(min(beams, logits.shape[-1]))
# +         steps, children = log_softmax(logits).topk(min(beams, logits.shape[-1]))
# ...
# -         best = sorted(candidates, key=score, reverse=True)[:beams]
# +         best = sorted(candidates, key=score, reverse=True)[:1]

# %% wrong_beam_half_precision, of right_beam_plain
# WRONG: log probabilities are summed in half precision
# -     if beams < 1:
# -         raise ValueError(f"beams must be 1 or more, got {beams}")
# -
# ...
# -         steps, children = log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32))).topk(min(beams, logits.shape[-1]))
# +         steps, children = log_softmax(logits).topk(min(beams, logits.shape[-1]))
#           for (tokens, log_prob), row, ids in zip(growing, steps.tolist(), children.tolist()):
# -             candidates += [([*tokens, token], log_prob + step) for step, token in zip(row, ids)]
# +             candidates += [([*tokens, token], float(torch.tensor(log_prob).half() + torch.tensor(step).half())) for step, token in zip(row, ids)]

# %% wrong_beam_ignores_eos, of right_beam_plain
# WRONG: EOS is a token like any other
# -     if beams < 1:
# -         raise ValueError(f"beams must be 1 or more, got {beams}")
# -
# ...
# -         candidates = [h for h in best if h[0][-1:] == [eos_token_id]]
# -         growing = [h for h in best if h[0][-1:] != [eos_token_id]]
# +         candidates, growing = [], best
# ...
# -         steps, children = log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32))).topk(min(beams, logits.shape[-1]))
# +         steps, children = log_softmax(logits).topk(min(beams, logits.shape[-1]))

# %% wrong_beam_last_step_only, of right_beam_plain
# WRONG: hypotheses are ranked by their last step alone
# -     if beams < 1:
# -         raise ValueError(f"beams must be 1 or more, got {beams}")
# -
# ...
# -         steps, children = log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32))).topk(min(beams, logits.shape[-1]))
# +         steps, children = log_softmax(logits).topk(min(beams, logits.shape[-1]))
#           for (tokens, log_prob), row, ids in zip(growing, steps.tolist(), children.tolist()):
# -             candidates += [([*tokens, token], log_prob + step) for step, token in zip(row, ids)]
# +             candidates += [([*tokens, token], step) for step, token in zip(row, ids)]

# %% wrong_beam_length_counts_the_prompt, of right_beam_plain
# WRONG: the length of the prompt counts in the length penalty
# -     if beams < 1:
# -         raise ValueError(f"beams must be 1 or more, got {beams}")
# -
# ...
# -         return log_prob / max(1, len(tokens)) ** length_penalty
# +         return log_prob / (idx.shape[1] + len(tokens)) ** length_penalty
# ...
# -         steps, children = log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32))).topk(min(beams, logits.shape[-1]))
# +         steps, children = log_softmax(logits).topk(min(beams, logits.shape[-1]))

# %% wrong_beam_length_penalty_ignored, of right_beam_plain
# WRONG: the length penalty is ignored
# -     if beams < 1:
# -         raise ValueError(f"beams must be 1 or more, got {beams}")
# -
# ...
# -         return log_prob / max(1, len(tokens)) ** length_penalty
# +         return log_prob / max(1, len(tokens)) ** 0
# ...
# -         steps, children = log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32))).topk(min(beams, logits.shape[-1]))
# +         steps, children = log_softmax(logits).topk(min(beams, logits.shape[-1]))

# %% wrong_beam_length_penalty_multiplied, of right_beam_plain
# WRONG: multiplied by n ** length_penalty: longer hypotheses lose
# -     if beams < 1:
# -         raise ValueError(f"beams must be 1 or more, got {beams}")
# -
# ...
# -         return log_prob / max(1, len(tokens)) ** length_penalty
# +         return log_prob * max(1, len(tokens)) ** length_penalty
# ...
# -         steps, children = log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32))).topk(min(beams, logits.shape[-1]))
# +         steps, children = log_softmax(logits).topk(min(beams, logits.shape[-1]))

# %% wrong_beam_new_tokens_only, of right_beam_plain
# WRONG: the prompt is missing from the ids
# -     if beams < 1:
# -         raise ValueError(f"beams must be 1 or more, got {beams}")
# -
# ...
# -         steps, children = log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32))).topk(min(beams, logits.shape[-1]))
# +         steps, children = log_softmax(logits).topk(min(beams, logits.shape[-1]))
# ...
# -     return torch.cat([idx, torch.tensor([tokens], dtype=idx.dtype)], dim=1), log_prob
# +     return torch.tensor([tokens], dtype=idx.dtype), log_prob

# %% wrong_beam_one_beam_too_few, of right_beam_plain
# WRONG: one beam too few
# -     if beams < 1:
# -         raise ValueError(f"beams must be 1 or more, got {beams}")
# -
# ...
# -         steps, children = log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32))).topk(min(beams, logits.shape[-1]))
# +         steps, children = log_softmax(logits).topk(min(beams, logits.shape[-1]))
# ...
# -         best = sorted(candidates, key=score, reverse=True)[:beams]
# +         best = sorted(candidates, key=score, reverse=True)[: max(1, beams - 1)]

# %% wrong_beam_one_child_each, of right_beam_plain
# WRONG: each hypothesis may have two children at the most
# -     if beams < 1:
# -         raise ValueError(f"beams must be 1 or more, got {beams}")
# -
# ...
# -         steps, children = log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32))).topk(min(beams, logits.shape[-1]))
# +         steps, children = log_softmax(logits).topk(min(2, logits.shape[-1]))

# %% wrong_beam_one_token_too_few, of right_beam_plain
# WRONG: one new token too few
# -     if beams < 1:
# -         raise ValueError(f"beams must be 1 or more, got {beams}")
# -
# ...
# -     for _ in range(max_new_tokens):
# +     for _ in range(max_new_tokens - 1):
# ...
# -         steps, children = log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32))).topk(min(beams, logits.shape[-1]))
# +         steps, children = log_softmax(logits).topk(min(beams, logits.shape[-1]))

# %% wrong_beam_one_token_too_many, of right_beam_plain
# WRONG: one new token too many
# -     if beams < 1:
# -         raise ValueError(f"beams must be 1 or more, got {beams}")
# -
# ...
# -     for _ in range(max_new_tokens):
# +     for _ in range(max_new_tokens + 1):
# ...
# -         steps, children = log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32))).topk(min(beams, logits.shape[-1]))
# +         steps, children = log_softmax(logits).topk(min(beams, logits.shape[-1]))

# %% wrong_beam_probabilities_summed, of right_beam_plain
# WRONG: probabilities are added
# -     if beams < 1:
# -         raise ValueError(f"beams must be 1 or more, got {beams}")
# -
# ...
# -         steps, children = log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32))).topk(min(beams, logits.shape[-1]))
# +         steps, children = softmax(logits).topk(min(beams, logits.shape[-1]))

# %% wrong_beam_prompt_position, of right_beam_plain
# WRONG: the position of the prompt's end is read at every step
# -     if beams < 1:
# -         raise ValueError(f"beams must be 1 or more, got {beams}")
# -
# ...
# -         logits = model(torch.cat([idx.expand(len(growing), -1), new_ids], dim=1))[:, -1]
# -         steps, children = log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32))).topk(min(beams, logits.shape[-1]))
# +         logits = model(torch.cat([idx.expand(len(growing), -1), new_ids], dim=1))[:, idx.shape[1] - 1]
# +         steps, children = log_softmax(logits).topk(min(beams, logits.shape[-1]))

# %% wrong_beam_raw_logits, of right_beam_plain
# WRONG: logits are summed, not log probabilities
# -     if beams < 1:
# -         raise ValueError(f"beams must be 1 or more, got {beams}")
# -
# ...
# -         steps, children = log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32))).topk(min(beams, logits.shape[-1]))
# +         steps, children = logits.topk(min(beams, logits.shape[-1]))

# %% wrong_beam_returns_last_beam, of right_beam_plain
# WRONG: the last of the beams is given back
# -     if beams < 1:
# -         raise ValueError(f"beams must be 1 or more, got {beams}")
# -
# ...
# -         steps, children = log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32))).topk(min(beams, logits.shape[-1]))
# +         steps, children = log_softmax(logits).topk(min(beams, logits.shape[-1]))
# ...
# -     tokens, log_prob = best[0]
# +     tokens, log_prob = best[-1]

# %% wrong_beam_returns_prob, of right_beam_plain
# WRONG: the probability instead of its logarithm
# -     if beams < 1:
# -         raise ValueError(f"beams must be 1 or more, got {beams}")
# -
# ...
# -         steps, children = log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32))).topk(min(beams, logits.shape[-1]))
# +         steps, children = log_softmax(logits).topk(min(beams, logits.shape[-1]))
# ...
# -     return torch.cat([idx, torch.tensor([tokens], dtype=idx.dtype)], dim=1), log_prob
# +     return torch.cat([idx, torch.tensor([tokens], dtype=idx.dtype)], dim=1), float(torch.tensor(log_prob).exp())

# %% wrong_beam_returns_score, of right_beam_plain
# WRONG: the score after the length penalty instead of the log probability
# -     if beams < 1:
# -         raise ValueError(f"beams must be 1 or more, got {beams}")
# -
# ...
# -         steps, children = log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32))).topk(min(beams, logits.shape[-1]))
# +         steps, children = log_softmax(logits).topk(min(beams, logits.shape[-1]))
# ...
# -     return torch.cat([idx, torch.tensor([tokens], dtype=idx.dtype)], dim=1), log_prob
# +     return torch.cat([idx, torch.tensor([tokens], dtype=idx.dtype)], dim=1), score(best[0])

# %% wrong_beam_samples, of right_beam_plain
# WRONG: hypotheses are drawn
# -     if beams < 1:
# -         raise ValueError(f"beams must be 1 or more, got {beams}")
# -
# ...
# -         steps, children = log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32))).topk(min(beams, logits.shape[-1]))
# +         steps, children = (lambda c: (log_softmax(logits).gather(-1, c), c))(torch.multinomial(softmax(logits), min(beams, logits.shape[-1])))

# %% wrong_beam_stops_at_first_eos, of right_beam_plain
# WRONG: the first EOS among the beams ends the search
# -     if beams < 1:
# -         raise ValueError(f"beams must be 1 or more, got {beams}")
# -
# ...
# -         steps, children = log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32))).topk(min(beams, logits.shape[-1]))
# +         steps, children = log_softmax(logits).topk(min(beams, logits.shape[-1]))
# ...
#           best = sorted(candidates, key=score, reverse=True)[:beams]
# +         ended = [h for h in best if h[0][-1] == eos_token_id]
# +         if ended:
# +             best = ended
# +             break

# %% wrong_beam_stops_when_best_is_finished_only, of right_beam_plain
# WRONG: only finished hypotheses may win, if there is one
# -     if beams < 1:
# -         raise ValueError(f"beams must be 1 or more, got {beams}")
# -
# ...
# -         steps, children = log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32))).topk(min(beams, logits.shape[-1]))
# +         steps, children = log_softmax(logits).topk(min(beams, logits.shape[-1]))
# ...
#           best = sorted(candidates, key=score, reverse=True)[:beams]
# +     best = [h for h in best if h[0][-1:] == [eos_token_id]] or best

# %% wrong_beam_too_many_beams, of right_beam_plain
# WRONG: twice as many beams as asked for
# -     if beams < 1:
# -         raise ValueError(f"beams must be 1 or more, got {beams}")
# -
# ...
# -         steps, children = log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32))).topk(min(beams, logits.shape[-1]))
# +         steps, children = log_softmax(logits).topk(min(2 * beams, logits.shape[-1]))
# ...
# -         best = sorted(candidates, key=score, reverse=True)[:beams]
# +         best = sorted(candidates, key=score, reverse=True)[: 2 * beams]

# %% wrong_beam_topk_over_vocabulary, of right_beam_plain
# WRONG: topk fails where there are more beams than tokens
# -     if beams < 1:
# -         raise ValueError(f"beams must be 1 or more, got {beams}")
# -
# ...
# -         steps, children = log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32))).topk(min(beams, logits.shape[-1]))
# +         steps, children = log_softmax(logits).topk(beams)

# %% wrong_beam_unfinished_only, of right_beam_plain
# WRONG: only hypotheses without EOS may win
# -     if beams < 1:
# -         raise ValueError(f"beams must be 1 or more, got {beams}")
# -
# ...
# -         steps, children = log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32))).topk(min(beams, logits.shape[-1]))
# +         steps, children = log_softmax(logits).topk(min(beams, logits.shape[-1]))
# ...
#           best = sorted(candidates, key=score, reverse=True)[:beams]
# +     best = [h for h in best if h[0][-1:] != [eos_token_id]] or best

# %% wrong_beam_worst, of right_beam_plain
# WRONG: the worst hypotheses are kept
# -     if beams < 1:
# -         raise ValueError(f"beams must be 1 or more, got {beams}")
# -
# ...
# -         steps, children = log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32))).topk(min(beams, logits.shape[-1]))
# +         steps, children = log_softmax(logits).topk(min(beams, logits.shape[-1]))
# ...
# -         best = sorted(candidates, key=score, reverse=True)[:beams]
# +         best = sorted(candidates, key=score, reverse=False)[:beams]

# %% wrong_beam_wrong_parent, of right_beam_plain
# WRONG: the children are appended to the wrong parents
# -     if beams < 1:
# -         raise ValueError(f"beams must be 1 or more, got {beams}")
# -
# ...
# -         steps, children = log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32))).topk(min(beams, logits.shape[-1]))
# -         for (tokens, log_prob), row, ids in zip(growing, steps.tolist(), children.tolist()):
# +         steps, children = log_softmax(logits).topk(min(beams, logits.shape[-1]))
# +         for (tokens, log_prob), row, ids in zip(growing[::-1], steps.tolist(), children.tolist()):


# %% wrong_beam_at_most_eight, of right_beam_plain
# WRONG: more than eight beams are taken as eight
# -     def score(hypothesis):
# +     beams = min(beams, 8)
# +
# +     def score(hypothesis):


# %% wrong_beam_four_grow, of right_beam_plain
# WRONG: only the best four hypotheses are continued
# -         if not growing:
# +         growing = growing[:4]
# +         if not growing:


# %% wrong_beam_no_penalty_below_zero, of right_beam_plain
# WRONG: a length penalty below 0 is taken as 0
# -     def score(hypothesis):
# +     length_penalty = max(length_penalty, 0.0)
# +
# +     def score(hypothesis):


# %% wrong_beam_gradients_on_afterwards, of right_beam_plain
# WRONG: gradients are switched off and on again: on for a caller who had them off
# -         logits = model(torch.cat([idx.expand(len(growing), -1), new_ids], dim=1))[:, -1]
# +         torch.set_grad_enabled(False)
# +         logits = model(torch.cat([idx.expand(len(growing), -1), new_ids], dim=1))[:, -1]
# +         torch.set_grad_enabled(True)


# %% wrong_beam_gradients_off_after_an_error, of right_beam_plain
# WRONG: gives gradient mode back, but not where the model raises
# -         logits = model(torch.cat([idx.expand(len(growing), -1), new_ids], dim=1))[:, -1]
# +         before = torch.is_grad_enabled()
# +         torch.set_grad_enabled(False)
# +         logits = model(torch.cat([idx.expand(len(growing), -1), new_ids], dim=1))[:, -1]
# +         torch.set_grad_enabled(before)


# %% wrong_beam_many_eos_in_the_prompt
# WRONG: where the prompt holds EOS more than once, EOS is a token like any other
import functools

search = beam_search


@functools.wraps(search)
def beam_search(model, idx, *, eos_token_id=None, **settings):
    if eos_token_id is not None and int((idx == eos_token_id).sum()) > 1:
        eos_token_id = None
    return search(model, idx, eos_token_id=eos_token_id, **settings)


# %% wrong_beam_equal_scores_merged, of right_beam_plain
# WRONG: candidates are collected by their score: of several equally probable ones a single one is left
# -         best = sorted(candidates, key=score, reverse=True)[:beams]
# +         by_score = {score(h): h for h in candidates}
# +         best = [by_score[s] for s in sorted(by_score, reverse=True)][:beams]


# %% wrong_beam_log_softmax_in_half, of right_beam_plain
# WRONG: log probabilities are taken in the dtype of the logits, and summed exactly
# -         steps, children = log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32))).topk(min(beams, logits.shape[-1]))
# +         steps, children = log_softmax(logits).topk(min(beams, logits.shape[-1]))
