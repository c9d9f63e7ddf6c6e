# exercise: softmax
# WRONG: in place on a view of the caller's tensor
def softmax(logits):
    rows = logits.view(-1, logits.shape[-1])
    for row in rows:
        row -= row.max().item()
    e = logits.exp()
    return e / e.sum(dim=-1, keepdim=True)
