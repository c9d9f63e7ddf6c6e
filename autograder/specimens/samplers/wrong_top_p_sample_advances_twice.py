# exercise: top_p_sample
# WRONG: also moves the global state

def top_p_sample(logits, p, generator=None):
    logits = at_least_float32(logits)
    probs = top_p_probs(logits, p)
    torch.rand((), device=logits.device)
    return torch.multinomial(probs, 1, generator=generator)
