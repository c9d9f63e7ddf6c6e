# exercise: beam_search
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
