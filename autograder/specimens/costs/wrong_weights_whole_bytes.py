# exercise: weight_bytes
# WRONG: half a byte rounded down
def weight_bytes(n_params, bytes_per_value):
    return n_params * int(bytes_per_value)
