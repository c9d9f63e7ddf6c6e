# exercise: softmax
# RIGHT: recursion over the leading dimensions, sorted sums
def softmax(logits):
    if logits.dim() > 1:
        return torch.stack([softmax(row) for row in logits])
    top = logits.sort(descending=True).values[0]
    e = torch.exp(logits - top)
    return e / e.sort().values.sum()
