# exercise: temperature_sample
# WRONG: normal noise in place of Gumbel
def temperature_sample(logits, tau, generator=None):
    logits = at_least_float32(logits)
    if tau < 0: raise ValueError(f"tau {tau}")
    if tau == 0: return greedy_sample(logits)
    return (logits / tau + 1.28 * torch.randn(logits.shape, generator=generator, device=logits.device)).argmax(-1, keepdim=True)
