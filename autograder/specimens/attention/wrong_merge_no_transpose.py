# exercise: merge_heads
# WRONG: flattens without exchanging heads and tokens
def merge_heads(x):
    B, H, T, Dh = x.shape
    return x.reshape(B, T, H * Dh)
