# exercise: temperature_sample
# WRONG: rounds the probabilities to the dtype of the logits before it draws, and sums them in it

def temperature_sample(logits, tau, generator=None):
    if tau == 0:
        return greedy_sample(logits)
    probs = temperature_probs(logits, tau).to(logits.dtype)
    sums = probs.cumsum(dim=-1)
    u = torch.rand(len(probs), 1, generator=generator, device=logits.device)
    return (sums / sums[:, -1:] <= u).sum(dim=-1, keepdim=True)
