# exercise: weight_bytes
# WRONG: bits for bytes
def weight_bytes(n_params, bytes_per_value):
    return n_params * bytes_per_value * 8
