# exercise: beam_search
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
