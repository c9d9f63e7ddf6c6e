# exercise: arithmetic_intensity
# WRONG: FLOPs a GB
# SAYS: These are FLOPs for each GB. Divide by bytes as they are.
def arithmetic_intensity(flops, num_bytes):
    return flops / (num_bytes / 1e9)
