# exercise: top_k_sample
# WRONG: seeds the global state from the generator

def top_k_sample(logits, k, generator=None):
    logits = at_least_float32(logits)
    probs = top_k_probs(logits, k)
    if generator is not None:
        torch.manual_seed(int(torch.randint(2**31, (), generator=generator, device=logits.device)))
    return torch.multinomial(probs, 1)
