# exercise: softmax
# WRONG: forgets to divide by the sum
def softmax(logits):
    return (logits - logits.amax(dim=-1, keepdim=True)).exp()
