# exercise: top_k_probs
# WRONG: computes in float32, then rounds the probabilities to the dtype of the logits

exact_top_k = top_k_probs


def top_k_probs(logits, k):
    return exact_top_k(logits, k).to(logits.dtype)
