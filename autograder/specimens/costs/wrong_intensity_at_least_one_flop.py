# exercise: arithmetic_intensity
# WRONG: work without a FLOP counted as one FLOP
def arithmetic_intensity(flops, num_bytes):
    return max(flops, 1) / num_bytes
