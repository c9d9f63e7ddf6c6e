# exercise: temperature_sample
# WRONG: seeds the global state from the generator

def temperature_sample(logits, tau, generator=None):
    logits = at_least_float32(logits)
    if tau == 0:
        return greedy_sample(logits)
    probs = temperature_probs(logits, tau)
    if generator is not None:
        torch.manual_seed(int(torch.randint(2**31, (), generator=generator, device=logits.device)))
    return torch.multinomial(probs, 1)
