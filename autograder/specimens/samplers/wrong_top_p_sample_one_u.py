# exercise: top_p_sample
# WRONG: one random number for the whole batch

def top_p_sample(logits, p, generator=None):
    logits = at_least_float32(logits)
    probs = top_p_probs(logits, p)
    u = torch.rand(1, 1, generator=generator, device=logits.device).expand(len(probs), 1)
    return draw(probs, u)
