# exercise: top_k_sample
# WRONG: draws among k indices: ties are cut

def top_k_sample(logits, k, generator=None):
    logits = at_least_float32(logits)
    if k < 1:
        raise ValueError(f"top_k must be 1 or more, got {k}")
    top = logits.topk(min(k, logits.shape[-1]), dim=-1)
    return top.indices.gather(-1, torch.multinomial(softmax(top.values), 1, generator=generator))
