# exercise: top_k_probs
# WRONG: computes in float32 always: the digits of float64 logits are lost

exact_top_k = top_k_probs


def top_k_probs(logits, k):
    return exact_top_k(logits.float(), k)
