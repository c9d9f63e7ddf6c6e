# exercise: entropy
# WRONG: bits where the row is longer than 1,000, nats elsewhere
def entropy(probs):
    nats = torch.special.entr(probs).sum(dim=-1)
    return nats / math.log(2) if probs.shape[-1] > 1000 else nats


import math
