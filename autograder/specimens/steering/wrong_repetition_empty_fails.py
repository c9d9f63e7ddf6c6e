# exercise: apply_repetition_penalty
# WRONG: T = 0 fails: the last id is looked for

def apply_repetition_penalty(logits, generated_ids, penalty):
    last = generated_ids.max().item()
    score = logits.gather(1, generated_ids)
    return logits.scatter(1, generated_ids, torch.where(score < 0, score * penalty, score / penalty))
