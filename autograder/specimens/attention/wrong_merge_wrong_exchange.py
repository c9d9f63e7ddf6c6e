# exercise: merge_heads
# WRONG: exchanges tokens and entries before flattening
def merge_heads(x):
    B, H, T, Dh = x.shape
    return x.transpose(2, 3).reshape(B, T, H * Dh)
