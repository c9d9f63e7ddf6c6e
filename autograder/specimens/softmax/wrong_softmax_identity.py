# exercise: softmax
# WRONG: gives back the logits
# SAYS: The logits come back as they were.
def softmax(logits):
    return logits
