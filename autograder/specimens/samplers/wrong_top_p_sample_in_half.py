# exercise: top_p_sample
# WRONG: rounds the probabilities to the dtype of the logits before it draws, and sums them in it

def top_p_sample(logits, p, generator=None):
    probs = top_p_probs(logits, p).to(logits.dtype)
    sums = probs.cumsum(dim=-1)
    u = torch.rand(len(probs), 1, generator=generator, device=logits.device)
    return (sums / sums[:, -1:] <= u).sum(dim=-1, keepdim=True)
