# exercise: sample_next_token
# RIGHT: one row at a time, with torch.rand for each

def sample_next_token(logits, *, temperature=1.0, top_k=None, top_p=None, generator=None):
    logits = at_least_float32(logits)
    rows = []
    for row in logits:
        probs = temperature_probs(row[None], temperature)
        if top_k is not None:
            probs = top_k_probs(torch.log(probs), top_k)
        if top_p is not None:
            probs = top_p_probs(torch.log(probs), top_p)
        if temperature == 0:
            rows.append(probs.argmax(-1))
        else:
            rows.append(draw(probs, torch.rand(1, 1, generator=generator, device=logits.device))[0])
    return torch.stack(rows)
