# exercise: arithmetic_intensity
# WRONG: never below one
# SAYS: The intensity is never below 1 here. Work with less than a FLOP a byte has one below 1.
def arithmetic_intensity(flops, num_bytes):
    return max(1.0, flops / num_bytes)
