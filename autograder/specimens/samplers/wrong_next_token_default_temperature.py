# exercise: sample_next_token
# WRONG: the temperature is 1.01 when none is given

def sample_next_token(logits, *, temperature=1.01, top_k=None, top_p=None, generator=None):
    probs = temperature_probs(logits, temperature)
    if top_k is not None:
        probs = top_k_probs(probs.log(), top_k)
    if top_p is not None:
        probs = top_p_probs(probs.log(), top_p)
    if temperature == 0:
        return greedy_sample(probs)
    return draw(probs, torch.rand(len(probs), 1, generator=generator, device=logits.device))
