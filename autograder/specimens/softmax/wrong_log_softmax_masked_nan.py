# exercise: log_softmax
# WRONG: a masked entry becomes nan
def log_softmax(logits):
    shifted = logits - logits.amax(dim=-1, keepdim=True)
    e = shifted.exp()
    p = e / e.sum(dim=-1, keepdim=True)
    return torch.where(p > 0, torch.log_softmax(logits, dim=-1), 0.0 * shifted)
