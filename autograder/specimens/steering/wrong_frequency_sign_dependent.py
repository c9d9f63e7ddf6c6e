# exercise: apply_frequency_presence
# WRONG: negative logits are raised

def apply_frequency_presence(logits, generated_ids, frequency, presence):
    ones = torch.ones_like(generated_ids, dtype=logits.dtype)
    counts = torch.zeros_like(logits).scatter_add(-1, generated_ids, ones)
    occurs = (counts > 0).to(logits.dtype)
    change = frequency * counts + presence * occurs
    return torch.where(logits > 0, logits - change, logits + change)
