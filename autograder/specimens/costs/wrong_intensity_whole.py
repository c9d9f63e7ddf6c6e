# exercise: arithmetic_intensity
# WRONG: whole division
# SAYS: The division is a whole one (//), which drops what is behind the point.
def arithmetic_intensity(flops, num_bytes):
    return flops // num_bytes
