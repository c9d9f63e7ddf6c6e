# exercise: split_heads
# WRONG: rows and heads in one dimension
# SAYS: Rows and heads are in one dimension: the result is (B, H, T, Dh).
def split_heads(x, num_heads):
    return x.unflatten(-1, (num_heads, -1)).transpose(1, 2).flatten(0, 1)
