# exercise: apply_repetition_penalty
# WRONG: the last 64 ids only
def apply_repetition_penalty(logits: Tensor, generated_ids: Tensor, penalty: float) -> Tensor:
    """Logits in which every token that occurs in `generated_ids` is less likely, by a factor.

    logits (B, V), generated_ids (B, T) int64 -> new logits (B, V). A positive logit is divided by the penalty, a
    negative one multiplied by it, once for each token however often it occurs; each row looks at its own ids only.
    T may be 0. penalty 1 changes nothing, below 1 repetition is rewarded. Which ids count is the caller's choice.
    Raises ValueError if penalty <= 0. The inputs are not changed. Keskar et al. 2019, section 4.1.
    """
    if penalty <= 0:
        raise ValueError(f"penalty must be greater than 0, got {penalty}")
    seen = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, generated_ids[:, -64:], True)  # (B, V)
    lowered = torch.where(logits > 0, logits / penalty, logits * penalty)
    return torch.where(seen, lowered, logits)
