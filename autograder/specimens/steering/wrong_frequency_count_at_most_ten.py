# exercise: apply_frequency_presence
# WRONG: counts ten occurrences at the most

def apply_frequency_presence(logits: Tensor, generated_ids: Tensor, frequency: float, presence: float) -> Tensor:
    wide = torch.promote_types(logits.dtype, torch.float32)  # in bfloat16 256 + 1 would be 256
    counts = torch.zeros_like(logits, dtype=wide)
    counts = counts.scatter_add(-1, generated_ids, torch.ones_like(generated_ids, dtype=wide)).clamp(max=10)
    occurs = (counts > 0).to(wide)  # whether
    return (logits - frequency * counts - presence * occurs).to(logits.dtype)
