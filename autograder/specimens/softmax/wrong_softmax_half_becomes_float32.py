# exercise: softmax
# WRONG: half precision comes back as float32
def softmax(logits):
    x = logits if logits.dtype == torch.float64 else logits.float()
    return torch.softmax(x, dim=-1)
