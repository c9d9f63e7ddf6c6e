# exercise: top_p_sample
# WRONG: u from a folded normal distribution

def top_p_sample(logits, p, generator=None):
    logits = at_least_float32(logits)
    probs = top_p_probs(logits, p)
    u = torch.randn(len(probs), 1, generator=generator, device=logits.device).abs().clamp(max=1 - 2**-24)
    return draw(probs, u)
