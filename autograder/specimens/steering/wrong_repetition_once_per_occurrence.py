# exercise: apply_repetition_penalty
# WRONG: the penalty is applied once for every occurrence

def apply_repetition_penalty(logits, generated_ids, penalty):
    counts = torch.zeros_like(logits).scatter_add(-1, generated_ids, torch.ones_like(generated_ids, dtype=logits.dtype))
    factor = penalty**counts
    return torch.where(logits > 0, logits / factor, logits * factor)
