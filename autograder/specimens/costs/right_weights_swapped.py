# exercise: weight_bytes
# RIGHT: factors exchanged
def weight_bytes(n_params, bytes_per_value):
    return bytes_per_value * n_params
