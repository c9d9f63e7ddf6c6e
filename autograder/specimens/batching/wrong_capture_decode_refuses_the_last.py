# exercise: capture_decode
# WRONG: the last slot is never used

def capture_decode(model, num_pad, start, keys, values):
    position, taken = torch.tensor(start), start

    def step(ids):
        nonlocal taken
        if taken >= keys.shape[3] - 1:
            raise ValueError("no slot left")
        taken += 1
        with torch.no_grad():
            logits = static_decode(model, ids, num_pad, position, keys, values)
        position.add_(1)
        return logits

    return step
