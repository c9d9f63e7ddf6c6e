# exercise: sample_next_token
# WRONG: temperature 0 draws from the one-hot distribution

def sample_next_token(logits, *, temperature=1.0, top_k=None, top_p=None, generator=None):
    logits = at_least_float32(logits)
    probs = temperature_probs(logits, temperature)
    if top_k is not None:
        probs = top_k_probs(probs.log(), top_k)
    if top_p is not None:
        probs = top_p_probs(probs.log(), top_p)
    return draw(probs, torch.rand(len(probs), 1, generator=generator, device=logits.device))
