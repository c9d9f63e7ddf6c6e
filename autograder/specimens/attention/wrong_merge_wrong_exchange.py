# exercise: merge_heads
# WRONG: exchanges tokens and entries before flattening
# SAYS: Tokens and entries are exchanged: exchange heads and tokens, dimensions 1 and 2.
def merge_heads(x):
    B, H, T, Dh = x.shape
    return x.transpose(2, 3).reshape(B, T, H * Dh)
