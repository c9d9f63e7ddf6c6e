# exercise: softmax
# RIGHT: powers of two of the scaled gaps
def softmax(logits):
    gaps = logits.double() - logits.double().amax(dim=-1, keepdim=True)
    e = torch.exp2(gaps * 1.4426950408889634)
    return (e * e.sum(dim=-1, keepdim=True).reciprocal()).type_as(logits)
