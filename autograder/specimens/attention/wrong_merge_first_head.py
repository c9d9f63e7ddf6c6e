# exercise: merge_heads
# WRONG: only head 0
def merge_heads(x):
    return x[:, 0].repeat(1, 1, x.shape[1])
