# exercise: top_k_sample
# WRONG: rounds u to 3 decimals: of many improbable tokens most never come

def top_k_sample(logits, k, generator=None):
    probs = top_k_probs(logits, k)
    u = torch.rand(len(probs), 1, generator=generator, device=logits.device)
    return draw(probs, (u * 1000).floor() / 1000)
