# exercise: top_p_sample
# WRONG: also moves the global state

def top_p_sample(logits, p, generator=None):
    probs = top_p_probs(logits, p)
    torch.rand(())
    return torch.multinomial(probs, 1, generator=generator)
