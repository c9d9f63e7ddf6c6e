# exercise: softmax
# WRONG: always float32
# SAYS: float32 comes back whatever came in. Keep the dtype.
def softmax(logits):
    return torch.softmax(logits.float(), dim=-1)
