# exercise: top_p_sample
# WRONG: one random number for the whole batch

def top_p_sample(logits, p, generator=None):
    probs = top_p_probs(logits, p)
    u = torch.rand(1, 1, generator=generator).expand(len(probs), 1)
    return draw(probs, u)
