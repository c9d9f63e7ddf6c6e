# exercise: typical_probs
# RIGHT: a mask of ranks through a double argsort; squared distance

def typical_probs(logits, mass):
    if mass <= 0 or mass > 1:
        raise ValueError(f"mass {mass}")
    logits = logits.double()
    p = softmax(logits)
    if mass >= 1:
        return p
    distance = (-log_softmax(logits) - entropy(p)[:, None]).square()
    order = distance.argsort(-1)
    rank = order.argsort(-1)
    needed = 1 + (p.gather(-1, order).cumsum(-1) < mass).sum(-1, keepdim=True)
    kept = p * (rank < needed)
    return kept / kept.sum(-1, keepdim=True)
