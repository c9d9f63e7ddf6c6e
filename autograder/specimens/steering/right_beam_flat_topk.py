# exercise: beam_search
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
