# exercise: entropy
# RIGHT: takes the logs as logits and uses the other two exercises
def entropy(probs):
    log_probs = log_softmax(probs.log())
    terms = softmax(probs.log()) * log_probs
    return -torch.where(torch.isneginf(log_probs), 0.0, terms).sum(dim=-1)
