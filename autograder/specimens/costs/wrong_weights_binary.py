# exercise: weight_bytes
# WRONG: each 1000 made 1024
# SAYS: Each factor of 1,000 is made 1,024. A weight has bytes_per_value bytes, no more.
def weight_bytes(n_params, bytes_per_value):
    return n_params * bytes_per_value * 1.024**3
