# exercise: temperature_sample
# WRONG: a generator of its own in each call, seeded with one of 100 numbers
def temperature_sample(logits, tau, generator=None):
    if tau == 0:
        return greedy_sample(logits)
    own = torch.Generator().manual_seed(int(torch.randint(100, (), generator=generator)))
    return draw(temperature_probs(logits, tau), torch.rand(len(logits), 1, generator=own).to(logits.device))
