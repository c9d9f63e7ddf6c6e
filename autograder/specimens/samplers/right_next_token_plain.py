# exercise: sample_next_token
# RIGHT: step by step; most of the wrong versions are edits of it

def sample_next_token(logits, *, temperature=1.0, top_k=None, top_p=None, generator=None):
    logits = at_least_float32(logits)
    probs = temperature_probs(logits, temperature)
    if top_k is not None:
        probs = top_k_probs(probs.log(), top_k)
    if top_p is not None:
        probs = top_p_probs(probs.log(), top_p)
    if temperature == 0:
        return greedy_sample(logits)
    return torch.multinomial(probs, 1, generator=generator)
