# exercise: apply_repetition_penalty
# RIGHT: a loop over rows and distinct tokens on a copy

def apply_repetition_penalty(logits, generated_ids, penalty):
    if penalty <= 0:
        raise ValueError("a penalty is greater than 0")
    out = logits.clone()
    for b in range(logits.shape[0]):
        for token in set(generated_ids[b].tolist()):
            if out[b, token] > 0:
                out[b, token] /= penalty
            else:
                out[b, token] *= penalty
    return out
