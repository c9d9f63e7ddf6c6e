# exercise: entropy
# RIGHT: xlogy knows that 0 log 0 is 0
def entropy(probs):
    return -torch.xlogy(probs, probs).sum(-1)
