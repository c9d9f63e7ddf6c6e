# exercise: causal_mask
# RIGHT: entry by entry
import torch


def causal_mask(q_len, k_len):
    mask = torch.zeros((q_len, k_len), dtype=torch.bool)
    for i in range(q_len):
        mask[i, : k_len - q_len + i + 1] = True
    return mask
