# exercise: sample_next_token
# RIGHT: the distributions, then Gumbel noise

def sample_next_token(logits, *, temperature=1.0, top_k=None, top_p=None, generator=None):
    logits = at_least_float32(logits)
    probs = temperature_probs(logits.double(), temperature)
    if top_k is not None:
        probs = top_k_probs(probs.log(), top_k)
    if top_p is not None:
        probs = top_p_probs(probs.log(), top_p)
    if temperature == 0:
        return greedy_sample(logits)
    u = torch.rand(probs.shape, generator=generator, dtype=torch.float64, device=logits.device).clamp_min(1e-300)
    return torch.argmax(probs.log() - torch.log(-torch.log(u)), dim=-1, keepdim=True)
