# exercise: apply_repetition_penalty
# RIGHT: gather, penalise, scatter back: duplicates write the same value

def apply_repetition_penalty(logits, generated_ids, penalty):
    if penalty <= 0:
        raise ValueError("a penalty is greater than 0")
    score = logits.gather(1, generated_ids)
    score = torch.where(score < 0, score * penalty, score / penalty)
    return logits.scatter(1, generated_ids, score)
