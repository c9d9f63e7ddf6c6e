# exercise: entropy
# WRONG: divided by ln V
# SAYS: The entropy is divided by ln V.
import math

def entropy(probs):
    return torch.special.entr(probs).sum(dim=-1) / math.log(max(probs.shape[-1], 2))
