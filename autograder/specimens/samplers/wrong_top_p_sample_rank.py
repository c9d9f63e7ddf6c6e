# exercise: top_p_sample
# WRONG: returns the rank of the token, not its id

def top_p_sample(logits, p, generator=None):
    logits = at_least_float32(logits)
    probs = top_p_probs(logits, p).sort(dim=-1, descending=True).values
    return torch.multinomial(probs, 1, generator=generator)
