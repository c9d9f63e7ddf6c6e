# exercise: softmax
# WRONG: gives back the logits
def softmax(logits):
    return logits
