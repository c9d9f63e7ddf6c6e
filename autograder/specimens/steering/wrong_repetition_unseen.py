# exercise: apply_repetition_penalty
# WRONG: the tokens that do not occur are penalised

def apply_repetition_penalty(logits, generated_ids, penalty):
    seen = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, generated_ids, True)
    lowered = torch.where(logits > 0, logits / penalty, logits * penalty)
    return torch.where(seen, logits, lowered)
