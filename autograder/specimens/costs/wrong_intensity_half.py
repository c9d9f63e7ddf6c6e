# exercise: arithmetic_intensity
# WRONG: multiply-adds a byte
def arithmetic_intensity(flops, num_bytes):
    return flops / 2 / num_bytes
