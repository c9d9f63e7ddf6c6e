# exercise: arithmetic_intensity
# WRONG: bytes a FLOP
def arithmetic_intensity(flops, num_bytes):
    return num_bytes / flops
