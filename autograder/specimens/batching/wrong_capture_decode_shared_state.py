# exercise: capture_decode
# WRONG: all captured steps share one position

def capture_decode(model, num_pad, start, keys, values):
    global _position
    _position, taken = torch.tensor(start), start

    def step(ids):
        nonlocal taken
        if taken == keys.shape[3]:
            raise ValueError("no slot left")
        taken += 1
        with torch.no_grad():
            logits = static_decode(model, ids, num_pad, _position, keys, values)
        _position.add_(1)
        return logits

    return step
