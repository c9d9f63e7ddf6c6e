# exercise: softmax
# WRONG: -inf replaced by -10000, which real logits may lie below
def softmax(logits):
    x = logits.clamp_min(-10000.0)
    return torch.softmax(x, dim=-1)
