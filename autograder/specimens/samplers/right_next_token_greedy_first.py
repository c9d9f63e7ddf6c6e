# exercise: sample_next_token
# RIGHT: greedy returns at once; the last filter calls the sampler

def sample_next_token(logits, *, temperature=1.0, top_k=None, top_p=None, generator=None):
    if temperature == 0:
        return greedy_sample(logits)
    if top_k is None and top_p is None:
        return temperature_sample(logits, temperature, generator)
    x = temperature_probs(logits, temperature).log()
    if top_p is None:
        return top_k_sample(x, top_k, generator)
    if top_k is not None:
        x = top_k_probs(x, top_k).log()
    return top_p_sample(x, top_p, generator)
