# exercise: sample_next_token
# WRONG: computes everything in the dtype of the logits

def sample_next_token(logits, *, temperature=1.0, top_k=None, top_p=None, generator=None):
    probs = temperature_probs(logits, temperature)
    if top_k is not None:
        probs = top_k_probs(probs.log(), top_k)
    if top_p is not None:
        probs = top_p_probs(probs.log(), top_p)
    if temperature == 0:
        return greedy_sample(probs)
    sums = probs.to(logits.dtype).cumsum(dim=-1)
    return (sums / sums[:, -1:] <= torch.rand(len(probs), 1, generator=generator, device=logits.device)).sum(dim=-1, keepdim=True)
