# exercise: positions_and_mask
# RIGHT: entry by entry

def positions_and_mask(num_pad, start, q_len):
    B, keys = len(num_pad), start + q_len
    positions = torch.zeros(B, q_len, dtype=torch.int64)
    mask = torch.zeros(B, 1, q_len, keys, dtype=torch.bool)
    for b in range(B):
        pads = int(num_pad[b])
        for i in range(q_len):
            slot = start + i
            positions[b, i] = max(slot - pads, 0)
            mask[b, 0, i, slot] = True
            if slot >= pads:
                mask[b, 0, i, pads : slot + 1] = True
    return positions, mask
