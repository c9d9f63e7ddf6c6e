# exercise: temperature_sample
# WRONG: normal noise in place of Gumbel
def temperature_sample(logits, tau, generator=None):
    if tau < 0: raise ValueError(f"tau {tau}")
    if tau == 0: return greedy_sample(logits)
    return (logits / tau + 1.28 * torch.randn(logits.shape, generator=generator)).argmax(-1, keepdim=True)
