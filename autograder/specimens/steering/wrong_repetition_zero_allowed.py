# exercise: apply_repetition_penalty
# WRONG: a penalty of 0 is not refused

def apply_repetition_penalty(logits: Tensor, generated_ids: Tensor, penalty: float) -> Tensor:
    if penalty < 0:
        raise ValueError(f"penalty must be greater than 0, got {penalty}")
    seen = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, generated_ids, True)  # (B, V)
    lowered = torch.where(logits > 0, logits / max(penalty, 1e-9), logits * penalty)
    return torch.where(seen, lowered, logits)
