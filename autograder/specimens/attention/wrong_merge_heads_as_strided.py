# exercise: merge_heads
# WRONG: strides as if x were contiguous
def merge_heads(x):
    B, H, T, D = x.shape
    return x.as_strided((B, T, H, D), (H * T * D, D, T * D, 1)).reshape(B, T, H * D)
