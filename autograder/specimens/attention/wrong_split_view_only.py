# exercise: split_heads
# WRONG: reshapes straight to (B, H, T, Dh)
# SAYS: x is reshaped straight to (B, H, T, Dh), which mixes tokens: cut the last dimension first, then exchange heads and tokens.
def split_heads(x, num_heads):
    B, T, D = x.shape
    return x.reshape(B, num_heads, T, D // num_heads)
