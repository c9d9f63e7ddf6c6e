# exercise: split_heads
# WRONG: reshapes straight to (B, H, T, Dh)
def split_heads(x, num_heads):
    B, T, D = x.shape
    return x.reshape(B, num_heads, T, D // num_heads)
