# exercise: merge_heads
# WRONG: flattens without exchanging heads and tokens
# SAYS: Heads and tokens are flattened without being exchanged first: transpose(1, 2), then flatten.
def merge_heads(x):
    B, H, T, Dh = x.shape
    return x.reshape(B, T, H * Dh)
