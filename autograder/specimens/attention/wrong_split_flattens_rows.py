# exercise: split_heads
# WRONG: cuts the whole batch, not each token
# SAYS: The whole batch is cut, not each token: cut the last dimension only.
def split_heads(x, num_heads):
    B, T, D = x.shape
    return x.reshape(num_heads, B, T, D // num_heads).transpose(0, 1)
