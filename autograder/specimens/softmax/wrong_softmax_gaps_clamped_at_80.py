# exercise: softmax
# WRONG: no gap may be wider than 80: small probabilities all become the same
def softmax(logits):
    gaps = (logits - logits.amax(-1, keepdim=True)).clamp_min(-80.0)
    e = torch.where(logits == -float("inf"), 0.0, gaps.exp())
    return e / e.sum(-1, keepdim=True)
