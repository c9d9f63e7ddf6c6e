# exercise: arithmetic_intensity
# WRONG: FLOPs a GB
def arithmetic_intensity(flops, num_bytes):
    return flops / (num_bytes / 1e9)
