# exercise: weight_bytes
# WRONG: four bytes whatever was said
def weight_bytes(n_params, bytes_per_value):
    return n_params * 4
