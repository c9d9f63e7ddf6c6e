# exercise: beam_search
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
