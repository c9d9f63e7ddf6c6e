# exercise: arithmetic_intensity
# WRONG: a difference
def arithmetic_intensity(flops, num_bytes):
    return flops - num_bytes
