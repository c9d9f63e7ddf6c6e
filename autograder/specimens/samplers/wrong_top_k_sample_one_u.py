# exercise: top_k_sample
# WRONG: one random number for the whole batch

def top_k_sample(logits, k, generator=None):
    logits = at_least_float32(logits)
    probs = top_k_probs(logits, k)
    u = torch.rand(1, 1, generator=generator, device=logits.device).expand(len(probs), 1)
    return draw(probs, u)
