# exercise: apply_frequency_presence
# WRONG: the ids of all rows count in every row

def apply_frequency_presence(logits, generated_ids, frequency, presence):
    ones = torch.ones_like(generated_ids, dtype=logits.dtype)
    counts = torch.zeros_like(logits).scatter_add(-1, generated_ids.reshape(1, -1).expand(len(logits), -1), ones.reshape(1, -1).expand(len(logits), -1))
    occurs = (counts > 0).to(logits.dtype)
    return logits - frequency * counts - presence * occurs
