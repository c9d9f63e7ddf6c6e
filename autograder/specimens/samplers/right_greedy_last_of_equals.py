# exercise: greedy_sample
# RIGHT: topk, and of equal maxima the last one

def greedy_sample(logits):
    flipped = logits.flip(-1)
    return logits.shape[-1] - 1 - flipped.topk(1, dim=-1).indices
