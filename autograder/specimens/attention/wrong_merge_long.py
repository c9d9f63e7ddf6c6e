# exercise: merge_heads
# WRONG: texts longer than 64 tokens lose their end
def merge_heads(x):
    return x[:, :, :64].transpose(1, 2).flatten(2)
