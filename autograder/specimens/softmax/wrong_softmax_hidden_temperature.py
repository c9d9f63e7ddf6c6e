# exercise: softmax
# WRONG: divides by the root of V
# SAYS: The logits are divided by a number first, which changes their gaps.
def softmax(logits):
    return torch.softmax(logits / logits.shape[-1] ** 0.5, dim=-1)
