# exercise: arithmetic_intensity
# WRONG: FLOPs a bit
# SAYS: These are FLOPs for each bit. Divide by bytes.
def arithmetic_intensity(flops, num_bytes):
    return flops / (8 * num_bytes)
