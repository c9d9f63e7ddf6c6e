# exercise: draw
# WRONG: ignores u and draws anew

def draw(probs, u):
    return torch.multinomial(probs, 1)
