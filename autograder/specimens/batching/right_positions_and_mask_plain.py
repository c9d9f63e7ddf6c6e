# exercise: positions_and_mask
# RIGHT: step by step; most of the wrong versions are edits of it

def positions_and_mask(num_pad: Tensor, start: int, q_len: int) -> tuple[Tensor, Tensor]:
    slots = torch.arange(start + q_len, device=num_pad.device)
    queries, keys = slots[start:, None], slots[None, :]  # (q_len, 1), (1, start+q_len)
    pads = num_pad[:, None, None]  # (B, 1, 1)
    positions = (slots[start:] - num_pad[:, None]).clamp(min=0)
    real = (keys >= pads) & (keys <= queries)  # (B, q_len, start+q_len)
    return positions, (real | (keys == queries)).unsqueeze(1)
