# exercise: top_k_sample
# RIGHT: Gumbel noise and argmax

def top_k_sample(logits, k, generator=None):
    logits = at_least_float32(logits)
    probs = top_k_probs(logits, k)
    noise = torch.rand(probs.shape, generator=generator, dtype=torch.float64, device=logits.device).clamp(min=1e-300)
    return (probs.double().log() - (-noise.log()).log()).argmax(dim=-1, keepdim=True)
