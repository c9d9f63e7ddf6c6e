# exercise: top_k_sample
# WRONG: also moves the global state

def top_k_sample(logits, k, generator=None):
    probs = top_k_probs(logits, k)
    torch.rand(())
    return torch.multinomial(probs, 1, generator=generator)
