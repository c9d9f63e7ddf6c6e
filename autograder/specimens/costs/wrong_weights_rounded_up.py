# exercise: weight_bytes
# WRONG: half a byte rounded up
# SAYS: bytes_per_value may be 0.5: it is rounded up here.
def weight_bytes(n_params, bytes_per_value):
    return n_params * max(1, bytes_per_value)
