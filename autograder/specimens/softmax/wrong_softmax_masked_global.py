# exercise: softmax
# WRONG: drops a column for all rows where the first row is masked
def softmax(logits):
    rows = logits.reshape(-1, logits.shape[-1])
    p = torch.softmax(logits, dim=-1) * ~torch.isneginf(rows[0])
    return p / p.sum(dim=-1, keepdim=True)
