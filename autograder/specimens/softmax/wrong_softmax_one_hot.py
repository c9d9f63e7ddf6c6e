# exercise: softmax
# WRONG: everything to the largest
def softmax(logits):
    return torch.nn.functional.one_hot(logits.argmax(dim=-1), logits.shape[-1]).to(logits.dtype)
