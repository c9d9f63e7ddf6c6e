# exercise: apply_frequency_presence
# WRONG: the first id is taken for a prompt and skipped

def apply_frequency_presence(logits, generated_ids, frequency, presence):
    ones = torch.ones_like(generated_ids, dtype=logits.dtype)
    counts = torch.zeros_like(logits).scatter_add(-1, generated_ids[:, 1:], ones[:, 1:])
    occurs = (counts > 0).to(logits.dtype)
    return logits - frequency * counts - presence * occurs
