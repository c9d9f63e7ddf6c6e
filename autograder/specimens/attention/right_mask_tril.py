# exercise: causal_mask
# RIGHT: the lower triangle of a matrix of ones, moved by the difference of lengths
import torch


def causal_mask(q_len, k_len):
    return torch.tril(torch.ones(q_len, k_len, dtype=torch.bool), diagonal=k_len - q_len)
