# exercise: beam_search
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
