# exercise: apply_frequency_presence
# RIGHT: step by step; most of the wrong versions are edits of it

def apply_frequency_presence(logits, generated_ids, frequency, presence):
    ones = torch.ones_like(generated_ids, dtype=logits.dtype)
    counts = torch.zeros_like(logits).scatter_add(-1, generated_ids, ones)
    occurs = (counts > 0).to(logits.dtype)
    return logits - frequency * counts - presence * occurs
