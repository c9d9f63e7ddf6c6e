# exercise: weight_bytes
# RIGHT: float first
def weight_bytes(n_params, bytes_per_value):
    return float(n_params) * bytes_per_value
