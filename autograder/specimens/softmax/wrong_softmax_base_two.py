# exercise: softmax
# WRONG: powers of two
def softmax(logits):
    e = torch.exp2(logits - logits.amax(dim=-1, keepdim=True))
    return e / e.sum(dim=-1, keepdim=True)
