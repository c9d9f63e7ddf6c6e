# exercise: beam_search
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
