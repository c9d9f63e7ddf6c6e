# exercise: entropy
# WRONG: the mean of the terms
# SAYS: The terms are averaged. Sum them: each is weighted by its probability already.
def entropy(probs):
    return torch.special.entr(probs).mean(dim=-1)
