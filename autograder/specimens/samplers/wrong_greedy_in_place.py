# exercise: greedy_sample
# WRONG: writes into the caller's logits

def greedy_sample(logits):
    logits -= logits.amax(dim=-1, keepdim=True)
    return logits.argmax(dim=-1, keepdim=True)
