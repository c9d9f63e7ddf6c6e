# exercise: capture_decode
# WRONG: no ValueError: the last slot is written over

def capture_decode(model, num_pad, start, keys, values):
    position, taken = torch.tensor(start), start

    def step(ids):
        nonlocal taken
        if taken == keys.shape[3]:
            position.sub_(1)
            taken -= 1
        taken += 1
        with torch.no_grad():
            logits = static_decode(model, ids, num_pad, position, keys, values)
        position.add_(1)
        return logits

    return step
