# exercise: beam_search
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
