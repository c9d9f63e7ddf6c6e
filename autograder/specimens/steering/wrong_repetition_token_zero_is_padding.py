# exercise: apply_repetition_penalty
# WRONG: token 0 is taken for padding and never penalised

def apply_repetition_penalty(logits, generated_ids, penalty):
    seen = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, generated_ids, True)
    seen[:, 0] = False
    lowered = torch.where(logits > 0, logits / penalty, logits * penalty)
    return torch.where(seen, lowered, logits)
