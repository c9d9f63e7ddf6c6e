# exercise: apply_repetition_penalty
# WRONG: remembers the ids of earlier calls: what was the prompt there is penalised here

_seen = {}

def apply_repetition_penalty(logits, generated_ids, penalty):
    out = logits.clone()
    for b, row in enumerate(generated_ids.tolist()):
        memory = _seen.setdefault(b, set())
        memory.update(row)
        for token in memory:
            if token < out.shape[-1]:
                out[b, token] = out[b, token] / penalty if out[b, token] > 0 else out[b, token] * penalty
    return out
