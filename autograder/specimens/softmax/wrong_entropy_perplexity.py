# exercise: entropy
# WRONG: exp of the entropy
# SAYS: This is the perplexity, exp of the entropy. Give the entropy itself.
def entropy(probs):
    return torch.special.entr(probs).sum(dim=-1).exp()
