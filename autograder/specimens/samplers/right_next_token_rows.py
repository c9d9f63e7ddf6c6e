# exercise: sample_next_token
# RIGHT: a token for one row at a time, with torch.rand for each

def sample_next_token(logits, *, temperature=1.0, top_k=None, top_p=None, generator=None):
    # The distributions are made of all rows together: row by row they took a minute of a processor in certification, and showed no more.
    probs = temperature_probs(at_least_float32(logits), temperature)
    if top_k is not None:
        probs = top_k_probs(torch.log(probs), top_k)
    if top_p is not None:
        probs = top_p_probs(torch.log(probs), top_p)
    if temperature == 0:
        return torch.stack([row.argmax(-1, keepdim=True) for row in probs])
    return torch.cat([draw(row[None], torch.rand(1, 1, generator=generator, device=probs.device)) for row in probs])
