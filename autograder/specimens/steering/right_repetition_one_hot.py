# exercise: apply_repetition_penalty
# RIGHT: one-hot vectors, and a factor for every entry

def apply_repetition_penalty(logits, generated_ids, penalty):
    if penalty <= 0:
        raise ValueError("a penalty is greater than 0")
    seen = torch.nn.functional.one_hot(generated_ids, logits.shape[-1]).sum(1).clamp(max=1)
    factor = torch.where(logits > 0, 1.0 / penalty, float(penalty)).to(logits.dtype)
    return torch.where(seen.bool(), logits * factor, logits)
