# exercise: arithmetic_intensity
# WRONG: FLOPs a bit
def arithmetic_intensity(flops, num_bytes):
    return flops / (8 * num_bytes)
