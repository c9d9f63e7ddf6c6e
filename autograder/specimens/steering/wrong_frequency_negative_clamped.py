# exercise: apply_frequency_presence
# WRONG: negative settings are treated as 0

def apply_frequency_presence(logits, generated_ids, frequency, presence):
    frequency, presence = max(frequency, 0.0), max(presence, 0.0)
    ones = torch.ones_like(generated_ids, dtype=logits.dtype)
    counts = torch.zeros_like(logits).scatter_add(-1, generated_ids, ones)
    occurs = (counts > 0).to(logits.dtype)
    return logits - frequency * counts - presence * occurs
