# exercise: left_pad
# RIGHT: reverses, pads on the right, reverses again; gives a list

def left_pad(prompts, pad_id):
    if not prompts:
        raise ValueError("empty list")
    longest = max(len(p) for p in prompts)
    rows, pads = [], []
    for p in prompts:
        if not p:
            raise ValueError("empty prompt")
        back = p[::-1]
        while len(back) < longest:
            back = back + [pad_id]
        rows.append(back)
        pads.append(longest - len(p))
    return [torch.tensor(rows).flip(1), torch.tensor(pads)]
