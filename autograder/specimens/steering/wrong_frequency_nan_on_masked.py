# exercise: apply_frequency_presence
# WRONG: -inf times 0 on tokens that do not occur gives nan

def apply_frequency_presence(logits, generated_ids, frequency, presence):
    ones = torch.ones_like(generated_ids, dtype=logits.dtype)
    counts = torch.zeros_like(logits).scatter_add(-1, generated_ids, ones)
    occurs = (counts > 0).to(logits.dtype)
    return logits * (1 - occurs) + (logits - frequency * counts - presence) * occurs
