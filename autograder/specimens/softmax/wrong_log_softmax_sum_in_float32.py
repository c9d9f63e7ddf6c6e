# exercise: log_softmax
# WRONG: the sum of the exponentials is taken in float32, whatever came in
def log_softmax(logits):
    gaps = logits - logits.amax(-1, keepdim=True)
    return gaps - gaps.float().exp().sum(-1, keepdim=True).log().to(logits.dtype)
