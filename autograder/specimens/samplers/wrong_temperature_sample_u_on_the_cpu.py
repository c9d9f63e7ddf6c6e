# exercise: temperature_sample
# WRONG: the random numbers are made on the CPU, wherever the logits lie
def temperature_sample(logits, tau, generator=None):
    if tau == 0:
        return greedy_sample(logits)
    probs = temperature_probs(logits, tau)
    return draw(probs, torch.rand(len(probs), 1, generator=generator))
