# exercise: apply_frequency_presence
# WRONG: presence counts only from the second occurrence where the frequency is above 1

def apply_frequency_presence(logits: Tensor, generated_ids: Tensor, frequency: float, presence: float) -> Tensor:
    wide = torch.promote_types(logits.dtype, torch.float32)  # bfloat16 has no number between 256 and 258
    counts = torch.zeros_like(logits, dtype=wide)
    counts = counts.scatter_add(-1, generated_ids, torch.ones_like(generated_ids, dtype=wide))  # (B, V): how often
    occurs = (counts > (1 if frequency > 1 else 0)).to(wide)  # whether
    return (logits - frequency * counts - presence * occurs).to(logits.dtype)
