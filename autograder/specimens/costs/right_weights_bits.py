# exercise: weight_bytes
# RIGHT: through bits
def weight_bytes(n_params, bytes_per_value):
    return n_params * (bytes_per_value * 8) / 8
