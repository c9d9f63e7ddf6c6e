# exercise: greedy_sample
# WRONG: argmax after exp without a shift: overflow makes large logits equal

def greedy_sample(logits):
    weights = logits.exp()
    return (weights / weights.sum(dim=-1, keepdim=True)).nan_to_num(0.0).argmax(dim=-1, keepdim=True)
