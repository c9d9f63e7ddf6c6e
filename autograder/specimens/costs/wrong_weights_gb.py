# exercise: weight_bytes
# WRONG: GB
def weight_bytes(n_params, bytes_per_value):
    return n_params * bytes_per_value / 1e9
