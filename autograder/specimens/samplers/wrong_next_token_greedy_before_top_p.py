# exercise: sample_next_token
# WRONG: temperature 0 returns before top_p is looked at: no error for a bad one

def sample_next_token(logits, *, temperature=1.0, top_k=None, top_p=None, generator=None):
    probs = temperature_probs(logits, temperature)
    if top_k is not None:
        probs = top_k_probs(probs.log(), top_k)
    if temperature == 0:
        return greedy_sample(probs)
    if top_p is not None:
        probs = top_p_probs(probs.log(), top_p)
    return draw(probs, torch.rand(len(probs), 1, generator=generator, device=logits.device))
