# exercise: top_p_sample
# WRONG: rounds u to 2 decimals: of many improbable tokens most never come

def top_p_sample(logits, p, generator=None):
    probs = top_p_probs(logits, p)
    u = torch.rand(len(probs), 1, generator=generator, device=logits.device)
    return draw(probs, (u * 100).floor() / 100)
