# exercise: weight_bytes
# WRONG: the bits of a value are rounded to a whole number
# SAYS: bytes_per_value may be 0.5625, which is 4.5 bits: it is rounded to whole bits here.
def weight_bytes(n_params, bytes_per_value):
    return n_params * round(8 * bytes_per_value) / 8
