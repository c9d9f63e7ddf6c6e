# exercise: softmax
# WRONG: each logit by itself
# SAYS: Each logit is treated by itself. A row of probabilities sums to 1.
def softmax(logits):
    p = logits.sigmoid()
    return p / p.sum(dim=-1, keepdim=True)
