# exercise: weight_bytes
# WRONG: two bytes whatever was said
# SAYS: Two bytes a value, whatever bytes_per_value says.
def weight_bytes(n_params, bytes_per_value):
    return n_params * 2
