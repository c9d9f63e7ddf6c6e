# exercise: apply_repetition_penalty
# WRONG: the ids of row 0 for all rows

def apply_repetition_penalty(logits, generated_ids, penalty):
    seen = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, generated_ids[:1].expand(len(logits), -1), True)
    lowered = torch.where(logits > 0, logits / penalty, logits * penalty)
    return torch.where(seen, lowered, logits)
