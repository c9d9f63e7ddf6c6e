# exercise: apply_repetition_penalty
# WRONG: the probabilities are divided, not the logits

def apply_repetition_penalty(logits, generated_ids, penalty):
    seen = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, generated_ids, True)
    lowered = logits - torch.tensor(float(penalty)).log()
    return torch.where(seen, lowered, logits)
