# exercise: greedy_sample
# WRONG: int32 ids

def greedy_sample(logits):
    return logits.argmax(dim=-1, keepdim=True).to(torch.int32)
