# exercise: softmax
# WRONG: writes the probabilities over the logits
def softmax(logits):
    logits.sub_(logits.amax(dim=-1, keepdim=True)).exp_()
    return logits.div_(logits.sum(dim=-1, keepdim=True))
