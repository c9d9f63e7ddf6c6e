# exercise: positions_and_mask
# WRONG: the mask is remembered for the same num_pad object, so a num_pad changed in place gets an old answer
def positions_and_mask(num_pad: Tensor, start: int, q_len: int) -> tuple[Tensor, Tensor]:
    """Where each query stands in its own row, and which keys it may see, for the slots start to start + q_len - 1.

    num_pad (B,) int64 -> positions (B, q_len) int64, mask (B, 1, q_len, start+q_len) bool, on num_pad's device.
    Positions count from each row's first real token; pads get 0. A real query sees the real keys up to itself; a pad
    sees itself only, so that no row of a softmax is empty.
    """
    memo = positions_and_mask.__dict__.setdefault("memo", {})
    if (memo.get("pads") is num_pad) and memo["place"] == (start, q_len):
        return memo["answer"]
    slots = torch.arange(start + q_len, device=num_pad.device)
    queries, keys = slots[start:, None], slots[None, :]  # (q_len, 1), (1, start+q_len)
    pads = num_pad[:, None, None]  # (B, 1, 1)
    positions = (slots[start:] - num_pad[:, None]).clamp(min=0)
    real = (keys >= pads) & (keys <= queries)  # (B, q_len, start+q_len)
    memo.update(pads=num_pad, place=(start, q_len), answer=(positions, (real | (keys == queries)).unsqueeze(1)))
    return memo["answer"]
