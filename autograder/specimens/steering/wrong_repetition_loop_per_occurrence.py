# exercise: apply_repetition_penalty
# WRONG: a loop over all ids, duplicates included

def apply_repetition_penalty(logits, generated_ids, penalty):
    out = logits.clone()
    for b, row in enumerate(generated_ids.tolist()):
        for token in row:
            out[b, token] = out[b, token] / penalty if out[b, token] > 0 else out[b, token] * penalty
    return out
