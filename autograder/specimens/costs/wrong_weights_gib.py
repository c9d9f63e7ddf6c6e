# exercise: weight_bytes
# WRONG: GiB
# SAYS: This is in GiB. The function gives bytes; divide when you print.
def weight_bytes(n_params, bytes_per_value):
    return n_params * bytes_per_value / 2**30
