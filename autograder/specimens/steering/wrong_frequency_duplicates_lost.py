# exercise: apply_frequency_presence
# WRONG: x[ids] += 1 counts equal ids once

def apply_frequency_presence(logits, generated_ids, frequency, presence):
    ones = torch.ones_like(generated_ids, dtype=logits.dtype)
    counts = torch.zeros_like(logits)
    rows = torch.arange(len(logits))[:, None]
    counts[rows, generated_ids] += 1
    occurs = (counts > 0).to(logits.dtype)
    return logits - frequency * counts - presence * occurs
