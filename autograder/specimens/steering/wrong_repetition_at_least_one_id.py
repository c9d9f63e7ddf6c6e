# exercise: apply_repetition_penalty
# WRONG: takes the last position of generated_ids apart, and fails where there is none

def apply_repetition_penalty(logits: Tensor, generated_ids: Tensor, penalty: float) -> Tensor:
    if penalty <= 0:
        raise ValueError(f"penalty must be greater than 0, got {penalty}")
    seen = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, generated_ids, True)  # (B, V)
    lowered = torch.where(logits > 0, logits / penalty, logits * penalty)
    seen.scatter_(-1, generated_ids[:, -1:] if generated_ids.shape[1] else generated_ids[:, 0:1].new_tensor([[0]]), True)
    return torch.where(seen, lowered, logits)
