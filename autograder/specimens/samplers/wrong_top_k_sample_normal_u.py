# exercise: top_k_sample
# WRONG: u from a folded normal distribution

def top_k_sample(logits, k, generator=None):
    logits = at_least_float32(logits)
    probs = top_k_probs(logits, k)
    u = torch.randn(len(probs), 1, generator=generator, device=logits.device).abs().clamp(max=1 - 2**-24)
    return draw(probs, u)
