# exercise: weight_bytes
# WRONG: each 1000 made 1024
def weight_bytes(n_params, bytes_per_value):
    return n_params * bytes_per_value * 1.024**3
