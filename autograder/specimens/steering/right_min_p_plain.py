# exercise: min_p_probs
# RIGHT: step by step; most of the wrong versions are edits of it

def min_p_probs(logits: Tensor, min_p: float) -> Tensor:
    if not 0 <= min_p <= 1:
        raise ValueError(f"min_p must be in [0, 1], got {min_p}")
    probs = softmax(logits.to(torch.promote_types(logits.dtype, torch.float32)))
    threshold = min_p * probs.amax(dim=-1, keepdim=True)  # (B, 1): high where the model is sure, low where it is not
    kept = probs.masked_fill(probs < threshold, 0.0)
    return kept / kept.sum(dim=-1, keepdim=True)
