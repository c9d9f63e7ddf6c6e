# exercise: entropy
# WRONG: 0 log 0 is cared for in float32 and float64 only
def entropy(probs):
    terms = -probs * probs.log()
    if probs.dtype in (torch.float32, torch.float64):
        terms = torch.where(probs > 0, terms, 0)
    return terms.sum(dim=-1)
