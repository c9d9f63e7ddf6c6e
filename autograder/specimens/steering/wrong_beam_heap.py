# exercise: beam_search
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
