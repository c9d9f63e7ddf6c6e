# exercise: softmax
# WRONG: divides by the root of V
def softmax(logits):
    return torch.softmax(logits / logits.shape[-1] ** 0.5, dim=-1)
