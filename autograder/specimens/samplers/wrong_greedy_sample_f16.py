# exercise: greedy_sample
# WRONG: compares in half: 70000 and 80000 are both inf, and close logits tie
def greedy_sample(logits):
    return logits.half().argmax(-1, keepdim=True)
