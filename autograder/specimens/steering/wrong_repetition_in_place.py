# exercise: apply_repetition_penalty
# WRONG: the caller's logits are changed

def apply_repetition_penalty(logits, generated_ids, penalty):
    score = logits.gather(1, generated_ids)
    return logits.scatter_(1, generated_ids, torch.where(score < 0, score * penalty, score / penalty))
