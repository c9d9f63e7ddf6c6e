# exercise: softmax
# RIGHT: one pass over the columns with a running maximum and sum
def softmax(logits):
    x = logits.double()
    m = torch.full(x.shape[:-1], float("-inf"), dtype=torch.float64)
    s = torch.zeros(x.shape[:-1], dtype=torch.float64)
    for column in x.unbind(-1):
        new = torch.maximum(m, column)
        s = torch.where(new == float("-inf"), s, s * (m - new).exp() + (column - new).exp())
        m = new
    return ((x - m.unsqueeze(-1)).exp() / s.unsqueeze(-1)).to(logits.dtype)
