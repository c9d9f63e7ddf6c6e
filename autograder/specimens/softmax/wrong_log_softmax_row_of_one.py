# exercise: log_softmax
# WRONG: a row of one token gives its logit instead of 0
def log_softmax(logits):
    if logits.shape[-1] == 1:
        return logits.clone()
    shifted = logits - logits.amax(dim=-1, keepdim=True)
    return shifted - shifted.exp().sum(dim=-1, keepdim=True).log()
