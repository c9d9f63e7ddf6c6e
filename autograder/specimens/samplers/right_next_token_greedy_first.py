# exercise: sample_next_token
# RIGHT: greedy as soon as the filters have been asked; the last filter calls the sampler

def sample_next_token(logits, *, temperature=1.0, top_k=None, top_p=None, generator=None):
    if temperature == 0:
        for probs, setting in ((top_k_probs, top_k), (top_p_probs, top_p)):
            if setting is not None:
                probs(logits, setting)
        return greedy_sample(logits)
    if top_k is None and top_p is None:
        return temperature_sample(logits, temperature, generator)
    x = temperature_probs(logits, temperature).log()
    if top_p is None:
        return top_k_sample(x, top_k, generator)
    if top_k is not None:
        x = top_k_probs(x, top_k).log()
    return top_p_sample(x, top_p, generator)
