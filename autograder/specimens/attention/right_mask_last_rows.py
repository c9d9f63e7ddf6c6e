# exercise: causal_mask
# RIGHT: the last rows of the square mask, as the negation of what is forbidden
import torch


def causal_mask(q_len, k_len):
    forbidden = torch.triu(torch.ones(k_len, k_len), diagonal=1)
    return (forbidden == 0)[k_len - q_len:, :]
