# exercise: top_p_sample
# WRONG: seeds the global state from the generator

def top_p_sample(logits, p, generator=None):
    logits = at_least_float32(logits)
    probs = top_p_probs(logits, p)
    if generator is not None:
        torch.manual_seed(int(torch.randint(2**31, (), generator=generator, device=logits.device)))
    return torch.multinomial(probs, 1)
