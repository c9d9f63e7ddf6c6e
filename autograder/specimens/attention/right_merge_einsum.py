# exercise: merge_heads
# RIGHT: einsum names the new order
import torch


def merge_heads(x):
    return torch.einsum("bhtd->bthd", x).reshape(x.shape[0], x.shape[2], -1)
