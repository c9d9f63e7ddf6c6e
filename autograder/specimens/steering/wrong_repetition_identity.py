# exercise: apply_repetition_penalty
# WRONG: nothing is penalised

def apply_repetition_penalty(logits, generated_ids, penalty):
    return logits.clone()
