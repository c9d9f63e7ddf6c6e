# exercise: weight_bytes
# WRONG: divided
# SAYS: The weights are divided by the bytes of a value. Multiply.
def weight_bytes(n_params, bytes_per_value):
    return n_params / bytes_per_value
