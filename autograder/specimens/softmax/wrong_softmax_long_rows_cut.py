# exercise: softmax
# WRONG: rows longer than 32,768 are cut there
def softmax(logits):
    e = (logits - logits.amax(dim=-1, keepdim=True)).exp()
    return e / e[..., :32_768].sum(dim=-1, keepdim=True)
