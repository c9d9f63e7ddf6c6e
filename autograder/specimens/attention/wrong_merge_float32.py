# exercise: merge_heads
# WRONG: returns float32 whatever comes in
# SAYS: float32 comes back whatever comes in: keep the dtype.
def merge_heads(x):
    return x.float().transpose(1, 2).flatten(2)
