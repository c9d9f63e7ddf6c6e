# exercise: softmax
# WRONG: takes max(dim=...) for a tensor: it gives values and indices
# SAYS: max(dim=...) gives two things, values and indices, and a tensor less the two is an error. Use amax, or .values.
def softmax(logits):
    shifted = logits - logits.max(dim=-1, keepdim=True)
    weights = shifted.exp()
    return weights / weights.sum(dim=-1, keepdim=True)
