# exercise: capture_decode
# WRONG: replays the first ids

def capture_decode(model, num_pad, start, keys, values):
    first = []
    position, taken = torch.tensor(start), start

    def step(ids):
        nonlocal taken
        if taken == keys.shape[3]:
            raise ValueError("no slot left")
        taken += 1
        first.append(ids)
        with torch.no_grad():
            logits = static_decode(model, first[0], num_pad, position, keys, values)
        position.add_(1)
        return logits

    return step
