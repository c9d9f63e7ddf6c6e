# exercise: top_k_probs
# WRONG: flattens with view: logits that are not contiguous raise

any_top_k = top_k_probs


def top_k_probs(logits, k):
    return any_top_k(logits.view(-1).view(logits.shape), k)
