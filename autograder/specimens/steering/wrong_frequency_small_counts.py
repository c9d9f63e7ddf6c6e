# exercise: apply_frequency_presence
# WRONG: counted in int8: 300 overflows

def apply_frequency_presence(logits, generated_ids, frequency, presence):
    ones = torch.ones_like(generated_ids, dtype=logits.dtype)
    counts = torch.zeros_like(logits).scatter_add(-1, generated_ids, ones)
    counts = counts.to(torch.int8).to(logits.dtype)
    occurs = (counts > 0).to(logits.dtype)
    return logits - frequency * counts - presence * occurs
