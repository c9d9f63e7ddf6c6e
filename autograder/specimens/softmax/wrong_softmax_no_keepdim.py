# exercise: softmax
# WRONG: no keepdim: rows and columns mixed up where the matrix is square
def softmax(logits):
    if logits.dim() == 2 and logits.shape[0] == logits.shape[1]:
        e = (logits - logits.amax(dim=-1)).exp()
        return e / e.sum(dim=-1)
    return torch.softmax(logits, dim=-1)
