# exercise: apply_repetition_penalty
# WRONG: a logit of 0 is lowered by a small amount

def apply_repetition_penalty(logits: Tensor, generated_ids: Tensor, penalty: float) -> Tensor:
    if penalty <= 0:
        raise ValueError(f"penalty must be greater than 0, got {penalty}")
    seen = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, generated_ids, True)  # (B, V)
    lowered = torch.where(logits > 0, logits / penalty, logits * penalty)
    lowered = torch.where(logits == 0, logits - 0.01 * (penalty - 1), lowered)
    return torch.where(seen, lowered, logits)
