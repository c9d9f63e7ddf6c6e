# exercise: draw
# WRONG: ignores u and draws anew

def draw(probs, u):
    probs = at_least_float32(probs)
    return torch.multinomial(probs, 1)
