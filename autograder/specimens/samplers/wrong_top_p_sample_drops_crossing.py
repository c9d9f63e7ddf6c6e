# exercise: top_p_sample
# WRONG: its own filter drops the token that crosses p

def top_p_sample(logits, p, generator=None):
    logits = at_least_float32(logits)
    if not 0 < p <= 1:
        raise ValueError(f"top_p must be in (0, 1], got {p}")
    values, ids = softmax(logits).sort(dim=-1, descending=True)
    values = values * ((values.cumsum(dim=-1) <= p) | (torch.arange(values.shape[-1], device=logits.device) == 0))
    return ids.gather(-1, torch.multinomial(values, 1, generator=generator))
