# exercise: log_softmax
# WRONG: no keepdim: columns mixed up where the matrix is square
def log_softmax(logits):
    lse = logits.logsumexp(dim=-1)
    square = logits.dim() == 2 and logits.shape[0] == logits.shape[1]
    return logits - (lse if square else lse.unsqueeze(-1))
