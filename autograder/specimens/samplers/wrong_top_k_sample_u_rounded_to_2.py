# exercise: top_k_sample
# WRONG: rounds u to 2 decimals: of many improbable tokens most never come

def top_k_sample(logits, k, generator=None):
    probs = top_k_probs(logits, k)
    u = torch.rand(len(probs), 1, generator=generator, device=logits.device)
    return draw(probs, (u * 100).floor() / 100)
