# exercise: arithmetic_intensity
# RIGHT: floats first
def arithmetic_intensity(flops, num_bytes):
    return float(flops) / float(num_bytes)
