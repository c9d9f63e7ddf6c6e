# exercise: top_k_sample
# WRONG: also moves the global state

def top_k_sample(logits, k, generator=None):
    logits = at_least_float32(logits)
    probs = top_k_probs(logits, k)
    torch.rand((), device=logits.device)
    return torch.multinomial(probs, 1, generator=generator)
