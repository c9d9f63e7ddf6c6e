# exercise: sample_next_token
# WRONG: keeps exactly k tokens, so that ties with the k-th are lost
def sample_next_token(logits, *, temperature=1.0, top_k=None, top_p=None, generator=None):
    logits = at_least_float32(logits)
    p = temperature_probs(logits, temperature)
    if top_k is not None:
        top_k_probs(p.log(), top_k)
        v, i = p.topk(min(top_k, p.shape[-1]), dim=-1)
        p = torch.zeros_like(p).scatter(-1, i, v / v.sum(-1, keepdim=True))
    if top_p is not None: p = top_p_probs(p.log(), top_p)
    if temperature == 0: return greedy_sample(p)
    return torch.multinomial(p, 1, generator=generator)
