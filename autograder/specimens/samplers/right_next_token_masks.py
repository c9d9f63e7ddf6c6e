# exercise: sample_next_token
# RIGHT: one masked tensor of logits; multinomial

def sample_next_token(logits, *, temperature=1.0, top_k=None, top_p=None, generator=None):
    logits = at_least_float32(logits)
    if temperature < 0:
        raise ValueError(f"temperature {temperature}")
    if top_k is not None and top_k < 1:
        raise ValueError(f"top_k {top_k}")
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError(f"top_p {top_p}")
    if temperature == 0:
        return logits.argmax(-1, keepdim=True)
    x = logits / temperature
    if top_k is not None and top_k < x.shape[-1]:
        kth = torch.topk(x, top_k).values[:, -1, None]
        x = torch.where(x < kth, -torch.inf, x)
    if top_p is not None and top_p < 1:
        ordered, ids = x.sort(descending=True)
        before = ordered.softmax(-1).cumsum(-1).roll(1, -1)
        before[:, 0] = 0
        x = torch.full_like(x, -torch.inf).scatter(-1, ids, ordered.masked_fill(before >= top_p, -torch.inf))
    return torch.multinomial(x.softmax(-1), 1, generator=generator)
