# exercise: split_heads
# WRONG: the order of the tokens is lost by reading the tensor in the wrong order
def split_heads(x, num_heads):
    B, T, D = x.shape
    return x.transpose(1, 2).reshape(B, num_heads, D // num_heads, T).transpose(2, 3).flip(2)
