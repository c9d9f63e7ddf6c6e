# exercise: arithmetic_intensity
# WRONG: a difference
# SAYS: This is a difference of FLOPs and bytes. Intensity is their quotient.
def arithmetic_intensity(flops, num_bytes):
    return flops - num_bytes
