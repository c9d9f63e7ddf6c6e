# exercise: greedy_sample
# WRONG: compares in float32: float64 logits that differ by less count as equal

def greedy_sample(logits):
    return logits.float().argmax(dim=-1, keepdim=True)
