# exercise: arithmetic_intensity
# WRONG: a product
def arithmetic_intensity(flops, num_bytes):
    return flops * num_bytes
