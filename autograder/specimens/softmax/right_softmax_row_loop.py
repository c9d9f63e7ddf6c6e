# exercise: softmax
# RIGHT: loops over the rows of a flattened view
def softmax(logits):
    rows = logits.reshape(-1, logits.shape[-1])
    out = torch.empty_like(rows)
    for i, row in enumerate(rows):
        e = torch.exp(row - row.max())
        out[i] = e / e.sum()
    return out.reshape(logits.shape)
