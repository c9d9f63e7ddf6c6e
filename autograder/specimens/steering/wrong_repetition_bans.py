# exercise: apply_repetition_penalty
# WRONG: a token that occurs is forbidden

def apply_repetition_penalty(logits, generated_ids, penalty):
    seen = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, generated_ids, True)
    lowered = torch.full_like(logits, float("-inf"))
    return torch.where(seen, lowered, logits)
