# exercise: top_p_probs
# WRONG: at p = 1 it shifts the caller's logits in place

any_top_p = top_p_probs


def top_p_probs(logits, p):
    if p == 1:
        return softmax(at_least_float32(logits.sub_(logits.amax(dim=-1, keepdim=True))))
    return any_top_p(logits, p)
