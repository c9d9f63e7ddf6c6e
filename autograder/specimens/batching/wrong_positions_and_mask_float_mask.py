# exercise: positions_and_mask
# WRONG: an additive mask of -inf
# SAYS: Your mask holds numbers to be added to scores. It is to be bool, True where a query may see a key.

def positions_and_mask(num_pad: Tensor, start: int, q_len: int) -> tuple[Tensor, Tensor]:
    slots = torch.arange(start + q_len, device=num_pad.device)
    queries, keys = slots[start:, None], slots[None, :]  # (q_len, 1), (1, start+q_len)
    pads = num_pad[:, None, None]  # (B, 1, 1)
    positions = (slots[start:] - num_pad[:, None]).clamp(min=0)
    real = (keys >= pads) & (keys <= queries)  # (B, q_len, start+q_len)
    return positions, torch.zeros(real.shape).masked_fill(~(real | (keys == queries)), float('-inf')).unsqueeze(1)
