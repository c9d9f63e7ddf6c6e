# exercise: softmax
# RIGHT: shifts by the maximum plus one: any shift near it will do
def softmax(logits):
    shift = logits.max(-1, keepdim=True)[0].detach() + 1
    e = torch.exp(logits - shift)
    return e / torch.einsum("...v->...", e)[..., None]
