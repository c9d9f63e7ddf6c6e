# exercise: apply_frequency_presence
# WRONG: frequency and presence are swapped

def apply_frequency_presence(logits, generated_ids, frequency, presence):
    ones = torch.ones_like(generated_ids, dtype=logits.dtype)
    counts = torch.zeros_like(logits).scatter_add(-1, generated_ids, ones)
    occurs = (counts > 0).to(logits.dtype)
    return logits - presence * counts - frequency * occurs
