# exercise: positions_and_mask
# RIGHT: positions by counting real tokens, mask by causal_mask

def positions_and_mask(num_pad, start, q_len):
    from solutions.attention import causal_mask
    keys = torch.arange(start + q_len, device=num_pad.device)
    is_real = keys[None] >= num_pad[:, None]
    positions = (is_real.long().cumsum(dim=1) - 1).clamp(min=0)[:, start:]
    causal = causal_mask(q_len, start + q_len).to(num_pad.device)
    eye = torch.eye(start + q_len, dtype=torch.bool, device=num_pad.device)[start:]
    return positions, (causal[None] & is_real[:, None] | eye)[:, None]
