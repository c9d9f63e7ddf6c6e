# exercise: arithmetic_intensity
# WRONG: whole division
def arithmetic_intensity(flops, num_bytes):
    return flops // num_bytes
