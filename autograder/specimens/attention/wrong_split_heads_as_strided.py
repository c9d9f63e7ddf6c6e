# exercise: split_heads
# WRONG: strides as if x were contiguous
def split_heads(x, num_heads):
    B, T, W = x.shape
    d = W // num_heads
    return x.as_strided((B, num_heads, T, d), (T * W, d, W, 1))
