# exercise: arithmetic_intensity
# RIGHT: a power of minus one
def arithmetic_intensity(flops, num_bytes):
    return flops * num_bytes**-1.0
