# exercise: capture_decode
# WRONG: a warm-up run leaves the position one too far

def capture_decode(model, num_pad, start, keys, values):
    position, taken = torch.tensor(start), start

    static_decode(model, torch.zeros(len(num_pad), 1, dtype=torch.int64), num_pad, position, keys, values)
    position.add_(keys.shape[3] > start + 1)

    def step(ids):
        nonlocal taken
        if taken == keys.shape[3]:
            raise ValueError("no slot left")
        taken += 1
        with torch.no_grad():
            logits = static_decode(model, ids, num_pad, position, keys, values)
        position.add_(1)
        return logits

    return step
