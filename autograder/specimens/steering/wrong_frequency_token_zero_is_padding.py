# exercise: apply_frequency_presence
# WRONG: token 0 is never counted

def apply_frequency_presence(logits, generated_ids, frequency, presence):
    ones = torch.ones_like(generated_ids, dtype=logits.dtype)
    counts = torch.zeros_like(logits).scatter_add(-1, generated_ids, ones)
    counts[:, 0] = 0
    occurs = (counts > 0).to(logits.dtype)
    return logits - frequency * counts - presence * occurs
