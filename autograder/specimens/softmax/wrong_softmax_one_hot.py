# exercise: softmax
# WRONG: everything to the largest
# SAYS: The largest logit gets everything. The others have a share too.
def softmax(logits):
    return torch.nn.functional.one_hot(logits.argmax(dim=-1), logits.shape[-1]).to(logits.dtype)
