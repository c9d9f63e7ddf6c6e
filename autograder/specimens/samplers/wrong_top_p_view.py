# exercise: top_p_probs
# WRONG: flattens with view: logits that are not contiguous raise

any_top_p = top_p_probs


def top_p_probs(logits, p):
    return any_top_p(logits.view(-1).view(logits.shape), p)
