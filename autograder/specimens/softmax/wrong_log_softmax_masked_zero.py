# exercise: log_softmax
# WRONG: masked entries, and all underflowed ones, get 0
def log_softmax(logits):
    return torch.log_softmax(logits, dim=-1).nan_to_num(neginf=0.0)
