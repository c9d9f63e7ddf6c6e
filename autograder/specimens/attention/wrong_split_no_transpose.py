# exercise: split_heads
# WRONG: leaves tokens before heads
# SAYS: Tokens still stand before heads: exchange dimensions 1 and 2.
def split_heads(x, num_heads):
    return x.unflatten(-1, (num_heads, -1))
