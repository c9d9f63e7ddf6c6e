# exercise: weight_bytes
# WRONG: half a byte rounded down
# SAYS: bytes_per_value may be 0.5: it is rounded down here.
def weight_bytes(n_params, bytes_per_value):
    return n_params * int(bytes_per_value)
