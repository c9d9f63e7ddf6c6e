# exercise: left_pad
# WRONG: pads the caller's lists

def left_pad(prompts, pad_id):
    if not prompts or not all(prompts):
        raise ValueError("empty")
    T = max(map(len, prompts))
    num_pad = [T - len(p) for p in prompts]
    for p in prompts:
        while len(p) < T:
            p.insert(0, pad_id)
    return torch.tensor(prompts), torch.tensor(num_pad)
