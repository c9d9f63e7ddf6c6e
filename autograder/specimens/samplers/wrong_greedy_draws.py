# exercise: greedy_sample
# WRONG: draws from the softmax

def greedy_sample(logits):
    return torch.multinomial(softmax(logits), 1)
