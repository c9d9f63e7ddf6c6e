# exercise: apply_repetition_penalty
# WRONG: scales by logits over their size, which is nan for a logit of 0

def apply_repetition_penalty(logits: Tensor, generated_ids: Tensor, penalty: float) -> Tensor:
    if penalty <= 0:
        raise ValueError(f"penalty must be greater than 0, got {penalty}")
    seen = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, generated_ids, True)  # (B, V)
    lowered = logits / penalty ** (logits / logits.abs())
    return torch.where(seen, lowered, logits)
