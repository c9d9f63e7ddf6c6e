# exercise: apply_repetition_penalty
# WRONG: a penalty below 1 is treated as 1

def apply_repetition_penalty(logits, generated_ids, penalty):
    penalty = max(penalty, 1.0)
    seen = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, generated_ids, True)
    lowered = torch.where(logits > 0, logits / penalty, logits * penalty)
    return torch.where(seen, lowered, logits)
