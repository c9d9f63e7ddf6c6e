# exercise: positions_and_mask
# RIGHT: the whole square, then the last rows

def positions_and_mask(num_pad, start, q_len):
    T = start + q_len
    slots = torch.arange(T)
    whole = torch.ones(T, T, dtype=torch.bool).tril().expand(len(num_pad), 1, T, T).clone()
    for row, pads in zip(whole, num_pad.tolist()):
        row[..., :pads] = False
        row[0].diagonal().fill_(True)
    return torch.maximum(slots - num_pad[:, None], torch.tensor(0))[:, start:], whole[:, :, start:]
