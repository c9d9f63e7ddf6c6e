# exercise: top_p_sample
# WRONG: rounds u to 3 decimals: of many improbable tokens most never come

def top_p_sample(logits, p, generator=None):
    probs = top_p_probs(logits, p)
    u = torch.rand(len(probs), 1, generator=generator, device=logits.device)
    return draw(probs, (u * 1000).floor() / 1000)
