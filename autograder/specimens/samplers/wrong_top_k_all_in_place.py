# exercise: top_k_probs
# WRONG: where everything is kept it shifts the caller's logits in place

any_top_k = top_k_probs


def top_k_probs(logits, k):
    if k >= logits.shape[-1]:
        return softmax(at_least_float32(logits.sub_(logits.amax(dim=-1, keepdim=True))))
    return any_top_k(logits, k)
