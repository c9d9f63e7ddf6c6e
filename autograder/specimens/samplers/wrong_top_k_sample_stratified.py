# exercise: top_k_sample
# WRONG: spreads u evenly over the rows: neighbours depend on each other

def top_k_sample(logits, k, generator=None):
    logits = at_least_float32(logits)
    probs = top_k_probs(logits, k)
    u = (torch.arange(len(probs), device=logits.device) + torch.rand(len(probs), generator=generator, device=logits.device)) / len(probs)
    start = torch.randint(len(probs), (), generator=generator, device=logits.device)
    return draw(probs, u.roll(int(start)).clamp(max=1 - 2**-24).reshape(-1, 1))
