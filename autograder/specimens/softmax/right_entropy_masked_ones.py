# exercise: entropy
# RIGHT: puts 1 where 0 stood, on a copy: ln 1 is 0
def entropy(probs):
    safe = probs.masked_fill(probs == 0, 1.0)
    return (safe.log().neg() * probs).sum(-1)
