# exercise: temperature_sample
# RIGHT: Gumbel noise and argmax

def temperature_sample(logits, tau, generator=None):
    logits = at_least_float32(logits)
    if tau == 0:
        return greedy_sample(logits)
    probs = temperature_probs(logits, tau)
    noise = torch.rand(probs.shape, generator=generator, dtype=torch.float64, device=logits.device).clamp(min=1e-300)
    return (probs.double().log() - (-noise.log()).log()).argmax(dim=-1, keepdim=True)
