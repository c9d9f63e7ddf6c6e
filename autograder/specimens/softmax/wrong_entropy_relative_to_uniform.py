# exercise: entropy
# WRONG: what is missing to ln V
import math

def entropy(probs):
    return math.log(probs.shape[-1]) - torch.special.entr(probs).sum(dim=-1)
