# exercise: draw
# WRONG: takes the most probable token

def draw(probs, u):
    return probs.argmax(dim=-1, keepdim=True)
