# exercise: top_p_probs
# WRONG: computes in float32 always: the digits of float64 logits are lost

exact_top_p = top_p_probs


def top_p_probs(logits, p):
    return exact_top_p(logits.float(), p)
