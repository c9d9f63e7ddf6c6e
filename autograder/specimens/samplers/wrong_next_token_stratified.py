# exercise: sample_next_token
# WRONG: spreads u evenly over the rows

def sample_next_token(logits, *, temperature=1.0, top_k=None, top_p=None, generator=None):
    logits = at_least_float32(logits)
    probs = temperature_probs(logits, temperature)
    if top_k is not None:
        probs = top_k_probs(probs.log(), top_k)
    if top_p is not None:
        probs = top_p_probs(probs.log(), top_p)
    if temperature == 0:
        return greedy_sample(logits)
    u = (torch.arange(len(probs), device=logits.device) + torch.rand(len(probs), generator=generator, device=logits.device)) / len(probs)
    u = u.roll(int(torch.randint(len(probs), (), generator=generator, device=logits.device))).clamp(max=1 - 2**-24)
    return draw(probs, u.reshape(-1, 1))
