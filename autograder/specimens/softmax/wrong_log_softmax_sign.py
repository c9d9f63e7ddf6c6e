# exercise: log_softmax
# WRONG: surprisal, the sign turned round
def log_softmax(logits):
    return -torch.log_softmax(logits, dim=-1)
