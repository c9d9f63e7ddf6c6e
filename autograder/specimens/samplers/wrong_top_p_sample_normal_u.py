# exercise: top_p_sample
# WRONG: u from a folded normal distribution

def top_p_sample(logits, p, generator=None):
    probs = top_p_probs(logits, p)
    u = torch.randn(len(probs), 1, generator=generator).abs().clamp(max=1 - 2**-24)
    return draw(probs, u)
