# exercise: left_pad
# RIGHT: a full tensor of pads, rows written into it

def left_pad(prompts, pad_id):
    if len(prompts) == 0:
        raise ValueError("no prompts")
    lengths = torch.tensor([len(p) for p in prompts])
    if int(lengths.min()) == 0:
        raise ValueError("a prompt is empty")
    ids = torch.full((len(prompts), int(lengths.max())), pad_id, dtype=torch.long)
    for row, prompt in enumerate(prompts):
        ids[row, -len(prompt):] = torch.tensor(prompt)
    return ids, int(lengths.max()) - lengths
