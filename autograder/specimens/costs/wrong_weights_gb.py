# exercise: weight_bytes
# WRONG: GB
# SAYS: This is in GB. The function gives bytes; divide when you print.
def weight_bytes(n_params, bytes_per_value):
    return n_params * bytes_per_value / 1e9
