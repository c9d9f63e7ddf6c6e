# exercise: left_pad
# WRONG: cuts to the shortest prompt

def left_pad(prompts, pad_id):
    if not prompts or not all(prompts):
        raise ValueError("empty")
    T = min(len(p) for p in prompts)
    return torch.tensor([p[-T:] for p in prompts]), torch.zeros(len(prompts), dtype=torch.int64)
