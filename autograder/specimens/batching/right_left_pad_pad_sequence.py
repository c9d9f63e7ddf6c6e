# exercise: left_pad
# RIGHT: torch's own pad_sequence, on the left

def left_pad(prompts, pad_id):
    if not prompts or min(map(len, prompts)) == 0:
        raise ValueError("every prompt needs a token")
    rows = [torch.tensor(p) for p in prompts]
    ids = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=pad_id, padding_side="left")
    return ids, torch.tensor([ids.shape[1] - len(p) for p in prompts])
