# exercise: draw
# RIGHT: a loop that subtracts probabilities from u

def draw(probs, u):
    probs = at_least_float32(probs)
    tokens = []
    for row, x in zip(probs.tolist(), u.flatten().tolist()):
        total, chosen = 0.0, None
        for i, q in enumerate(row):
            total += q
            if q > 0:
                chosen = i
            if total > x:
                break
        tokens.append([chosen])
    return torch.tensor(tokens, device=probs.device)
