# exercise: entropy
# WRONG: nansum over the whole tensor: one number for all rows
def entropy(probs):
    return -(probs * probs.log()).nansum()
