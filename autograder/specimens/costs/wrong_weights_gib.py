# exercise: weight_bytes
# WRONG: GiB
def weight_bytes(n_params, bytes_per_value):
    return n_params * bytes_per_value / 2**30
