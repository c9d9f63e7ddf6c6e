# exercise: weight_bytes
# WRONG: four bytes whatever was said
# SAYS: Four bytes a value, whatever bytes_per_value says.
def weight_bytes(n_params, bytes_per_value):
    return n_params * 4
