# exercise: top_k_sample
# RIGHT: a race of exponential clocks

def top_k_sample(logits, k, generator=None):
    logits = at_least_float32(logits)
    probs = top_k_probs(logits, k)
    clocks = torch.empty(probs.shape, dtype=torch.float64, device=logits.device).exponential_(generator=generator)
    return (clocks / probs.double()).argmin(dim=-1).unsqueeze(-1)
