# exercise: apply_frequency_presence
# WRONG: the first occurrence is free

def apply_frequency_presence(logits, generated_ids, frequency, presence):
    ones = torch.ones_like(generated_ids, dtype=logits.dtype)
    counts = torch.zeros_like(logits).scatter_add(-1, generated_ids, ones)
    occurs = (counts > 0).to(logits.dtype)
    return logits - frequency * (counts - 1).clamp_min(0) - presence * occurs
