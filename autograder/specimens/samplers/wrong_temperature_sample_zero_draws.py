# exercise: temperature_sample
# WRONG: tau = 0 draws from the one-hot distribution and moves the generator

def temperature_sample(logits, tau, generator=None):
    logits = at_least_float32(logits)
    probs = temperature_probs(logits, tau)
    return draw(probs, torch.rand(len(probs), 1, generator=generator, device=logits.device))
