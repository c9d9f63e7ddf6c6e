# exercise: arithmetic_intensity
# WRONG: a product
# SAYS: This is a product of FLOPs and bytes. Intensity is their quotient.
def arithmetic_intensity(flops, num_bytes):
    return flops * num_bytes
