# exercise: apply_repetition_penalty
# WRONG: a negative logit is divided too

def apply_repetition_penalty(logits, generated_ids, penalty):
    seen = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, generated_ids, True)
    lowered = logits / penalty
    return torch.where(seen, lowered, logits)
