# exercise: merge_heads
# RIGHT: permute, contiguous, view
def merge_heads(x):
    B, H, T, Dh = x.size()
    return x.permute(0, 2, 1, 3).contiguous().view(B, T, H * Dh)
