# exercise: softmax
# RIGHT: the exponential of log_softmax, in terms of the other exercise
def softmax(logits):
    return log_softmax(logits).exp()
