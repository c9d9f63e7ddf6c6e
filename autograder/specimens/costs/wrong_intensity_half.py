# exercise: arithmetic_intensity
# WRONG: multiply-adds a byte
# SAYS: These are multiply-adds for each byte. flops are FLOPs already: do not halve them.
def arithmetic_intensity(flops, num_bytes):
    return flops / 2 / num_bytes
