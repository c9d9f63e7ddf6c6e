# exercise: merge_heads
# WRONG: (T, B, H*Dh)
def merge_heads(x):
    return x.permute(2, 0, 1, 3).flatten(2)
