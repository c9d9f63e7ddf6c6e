# exercise: top_p_sample
# RIGHT: one row after another, each with its own random number

def top_p_sample(logits, p, generator=None):
    logits = at_least_float32(logits)
    probs = top_p_probs(logits, p)
    numbers = torch.rand(len(probs), generator=generator, device=logits.device)
    return torch.cat([draw(row[None], u.reshape(1, 1)) for row, u in zip(probs, numbers)])
