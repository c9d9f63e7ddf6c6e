# exercise: greedy_sample
# WRONG: flattens with view: logits that are not contiguous raise

def greedy_sample(logits):
    return logits.view(-1).view(logits.shape).argmax(dim=-1, keepdim=True)
