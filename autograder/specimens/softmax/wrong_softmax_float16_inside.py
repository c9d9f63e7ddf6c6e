# exercise: softmax
# WRONG: works in float16 and casts back: overflow above 65504
def softmax(logits):
    return torch.softmax(logits.half(), dim=-1).to(logits.dtype)
