# exercise: split_heads
# RIGHT: view and permute
def split_heads(x, num_heads):
    B, T, D = x.shape
    return x.view(B, T, num_heads, D // num_heads).permute(0, 2, 1, 3)
