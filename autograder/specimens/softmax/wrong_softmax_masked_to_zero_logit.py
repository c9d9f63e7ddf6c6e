# exercise: softmax
# WRONG: nan_to_num on the logits, which makes inf of nothing and a huge gap of -inf
def softmax(logits):
    x = logits.nan_to_num(neginf=-1000.0)
    return torch.softmax(x, dim=-1)
