# exercise: log_softmax
# WRONG: the logarithm of the probability where it is above 1e-40, although such numbers have few digits
def log_softmax(logits):
    gaps = logits - logits.amax(-1, keepdim=True)
    e = gaps.exp()
    probs = e / e.sum(-1, keepdim=True)
    return torch.where(probs > 1e-40, probs.log(), gaps - e.sum(-1, keepdim=True).log())
