# exercise: top_p_sample
# RIGHT: a race of exponential clocks

def top_p_sample(logits, p, generator=None):
    logits = at_least_float32(logits)
    probs = top_p_probs(logits, p)
    clocks = torch.empty(probs.shape, dtype=torch.float64, device=logits.device).exponential_(generator=generator)
    return (clocks / probs.double()).argmin(dim=-1).unsqueeze(-1)
