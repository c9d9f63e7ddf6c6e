# exercise: apply_repetition_penalty
# WRONG: always works in float32: float64 logits lose their digits

def apply_repetition_penalty(logits: Tensor, generated_ids: Tensor, penalty: float) -> Tensor:
    if penalty <= 0:
        raise ValueError(f"penalty must be greater than 0, got {penalty}")
    logits = logits.float()
    seen = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, generated_ids, True)  # (B, V)
    lowered = torch.where(logits > 0, logits / penalty, logits * penalty)
    return torch.where(seen, lowered, logits)
