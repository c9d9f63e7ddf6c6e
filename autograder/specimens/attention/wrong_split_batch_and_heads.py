# exercise: split_heads
# WRONG: heads before rows
# SAYS: Heads come before rows: the result is (B, H, T, Dh).
def split_heads(x, num_heads):
    return x.unflatten(-1, (num_heads, -1)).permute(2, 0, 1, 3)
