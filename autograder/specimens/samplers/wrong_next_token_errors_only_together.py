# exercise: sample_next_token
# WRONG: top_p is looked at only where top_k is None or leaves more than one token

def sample_next_token(logits, *, temperature=1.0, top_k=None, top_p=None, generator=None):
    probs = temperature_probs(logits, temperature)
    if top_k is not None:
        probs = top_k_probs(probs.log(), top_k)
    if top_p is not None and top_k != 1:
        probs = top_p_probs(probs.log(), top_p)
    if temperature == 0:
        return greedy_sample(probs)
    return draw(probs, torch.rand(len(probs), 1, generator=generator, device=logits.device))
