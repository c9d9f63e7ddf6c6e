# exercise: top_p_sample
# RIGHT: Gumbel noise and argmax

def top_p_sample(logits, p, generator=None):
    logits = at_least_float32(logits)
    probs = top_p_probs(logits, p)
    noise = torch.rand(probs.shape, generator=generator, dtype=torch.float64, device=logits.device).clamp(min=1e-300)
    return (probs.double().log() - (-noise.log()).log()).argmax(dim=-1, keepdim=True)
