# exercise: greedy_sample
# RIGHT: sorts and takes the first id

def greedy_sample(logits):
    return logits.sort(dim=-1, descending=True).indices[:, :1]
