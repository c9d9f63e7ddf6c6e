# exercise: apply_repetition_penalty
# WRONG: 0 x inf: a masked token becomes nan

def apply_repetition_penalty(logits, generated_ids, penalty):
    seen = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, generated_ids, True)
    lowered = torch.where(logits > 0, logits / penalty, logits * penalty)
    return logits + seen.to(logits.dtype) * (lowered - logits)
