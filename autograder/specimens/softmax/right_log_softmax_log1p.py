# exercise: log_softmax
# RIGHT: log1p of the sum without its largest term
def log_softmax(logits):
    top, where = logits.double().max(dim=-1, keepdim=True)
    gaps = logits.double() - top
    rest = gaps.exp().scatter(-1, where, 0.0).sum(dim=-1, keepdim=True)
    return (gaps - rest.log1p()).to(logits.dtype)
