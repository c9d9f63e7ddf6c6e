# exercise: beam_search
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
