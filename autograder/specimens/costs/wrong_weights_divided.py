# exercise: weight_bytes
# WRONG: divided
def weight_bytes(n_params, bytes_per_value):
    return n_params / bytes_per_value
