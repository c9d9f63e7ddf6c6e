# exercise: entropy
# WRONG: what is missing to ln V
# SAYS: This is ln V less the entropy. Give the entropy itself.
import math

def entropy(probs):
    return math.log(probs.shape[-1]) - torch.special.entr(probs).sum(dim=-1)
