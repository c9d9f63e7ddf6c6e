# exercise: arithmetic_intensity
# WRONG: bytes a FLOP
# SAYS: These are bytes for each FLOP: turn the fraction round.
def arithmetic_intensity(flops, num_bytes):
    return num_bytes / flops
