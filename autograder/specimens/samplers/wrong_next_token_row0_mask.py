# exercise: sample_next_token
# WRONG: the survivors of row 0 in all rows

def sample_next_token(logits, *, temperature=1.0, top_k=None, top_p=None, generator=None):
    logits = at_least_float32(logits)
    probs = temperature_probs(logits, temperature)
    keep = probs[:1]
    if top_k is not None:
        keep = top_k_probs(keep.log(), top_k)
    if top_p is not None:
        keep = top_p_probs(keep.log(), top_p)
    probs = probs * (keep > 0)
    probs = probs / probs.sum(dim=-1, keepdim=True)
    if temperature == 0:
        return greedy_sample(logits)
    return torch.multinomial(probs, 1, generator=generator)
