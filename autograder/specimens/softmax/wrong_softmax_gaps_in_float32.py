# exercise: softmax
# WRONG: the gaps are right and are then rounded to float32, which float64 asks no one to do
def softmax(logits):
    gaps = (logits - logits.amax(-1, keepdim=True)).float()
    return torch.softmax(gaps, dim=-1).to(logits.dtype)
