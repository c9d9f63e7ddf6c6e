# exercise: merge_heads
# WRONG: the last head first
# SAYS: The last head comes first: head 0 is first.
def merge_heads(x):
    return x.flip(1).transpose(1, 2).flatten(2)
