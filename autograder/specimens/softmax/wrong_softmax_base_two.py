# exercise: softmax
# WRONG: powers of two
# SAYS: The base is 2. It is e: use exp.
def softmax(logits):
    e = torch.exp2(logits - logits.amax(dim=-1, keepdim=True))
    return e / e.sum(dim=-1, keepdim=True)
