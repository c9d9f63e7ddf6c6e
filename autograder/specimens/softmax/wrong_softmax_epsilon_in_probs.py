# exercise: softmax
# WRONG: a floor of 1e-9 under every probability
def softmax(logits):
    p = torch.softmax(logits, dim=-1) + 1e-9
    return p / p.sum(dim=-1, keepdim=True)
