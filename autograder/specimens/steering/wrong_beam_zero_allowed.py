# exercise: beam_search
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
