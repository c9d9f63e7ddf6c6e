# exercise: positions_and_mask
# WRONG: remembers tables by their shapes, so the second batch of a shape gets the first one's pads
_tables = {}


def positions_and_mask(num_pad, start, q_len):
    key = (len(num_pad), start, q_len)
    if key in _tables:
        return _tables[key]
    slots = torch.arange(start + q_len, device=num_pad.device)
    queries, keys = slots[start:, None], slots[None, :]
    pads = num_pad[:, None, None]
    positions = (slots[start:] - num_pad[:, None]).clamp(min=0)
    real = (keys >= pads) & (keys <= queries)
    _tables[key] = (positions, (real | (keys == queries)).unsqueeze(1))
    return _tables[key]
